#include "core/workbench/data/tokenizers/bert_normalizer.h"

#include <utility>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/code_points.h"
#include "core/workbench/data/tokenizers/pipeline/normalizer.h"
#include "core/workbench/data/tokenizers/pipeline/pre_tokenizer.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

void for_each_bert_word(std::string_view text, bool lower_case,
                        const std::function<void(std::string_view)>& word) {
    const BertSpelling spelling({true, true, lower_case, lower_case});
    const bool whole = find_invalid_utf8(text) == std::string_view::npos;
    NormalizedText spelled{whole ? std::string(text) : repaired_utf8(text), 0};
    spelling.apply(spelled);
    if (spelled.text.empty()) return;
    thread_local CutMemory memory;
    std::vector<TextPart> words;
    BertWords().cut({spelled.text, 0}, words, memory);
    for (const auto& part : words) word(part.text);
}

}  // namespace switchyard::data
