#include "core/workbench/data/tokenizers/open_tokenizer.h"

#include <set>
#include <utility>

#include "core/workbench/data/splits.h"
#include "core/workbench/data/tokenizers/byte_tokenizer.h"
#include "core/workbench/data/tokenizers/smiles_tokenizer.h"
#include "core/workbench/data/tokenizers/wordpiece.h"

namespace switchyard::data {
namespace {

template <class Opened>
OpenedTokenizer opened(Opened result) {
    if (!result.tokenizer) return {nullptr, {std::move(result.error)}};
    return {std::move(result.tokenizer), {}};
}

OpenedTokenizer from_molecules(config::DataConfig data) {
    data.eval.clear();
    data.target_eval.clear();
    SplitRequest request{data, {data.text_column}};
    if (!data.target_column.empty()) request.columns.push_back(data.target_column);
    request.parallel = !data.target_train.empty();
    request.documents = !request.parallel && request.columns.size() == 1;
    std::set<std::string> tokens;
    const auto use = [&](const std::string&, const Row& row, bool) {
        for (const auto& text : row.values) {
            std::set<std::string> here;
            if (auto fault = collect_smiles_tokens(text, here); !fault.empty())
                return RowUse{false, false, std::move(fault), data.bad_row};
            tokens.merge(here);
        }
        return RowUse{};
    };
    Splits splits;
    read_splits(request, use, splits);
    if (splits.problems.empty() && tokens.empty())
        splits.problems.emplace_back("data.train: holds no molecule to make a vocabulary of");
    if (!splits.problems.empty()) return {nullptr, std::move(splits.problems)};
    return {SmilesTokenizer::from_tokens(tokens), {}};
}

}  // namespace

OpenedTokenizer open_tokenizer(const config::DataConfig& data) {
    using Kind = config::TokenizerKind;
    if (data.tokenizer == Kind::bytes) return {std::make_shared<ByteTokenizer>(), {}};
    if (data.tokenizer == Kind::smiles)
        return data.vocabulary.empty() ? from_molecules(data)
                                       : opened(SmilesTokenizer::open(data.vocabulary));
    return opened(WordPiece::open(data.vocabulary, {.lower_case = data.lower_case}));
}

}  // namespace switchyard::data
