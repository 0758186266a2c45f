#include "core/workbench/data/whole_words.h"

#include <string>

namespace switchyard::data {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// A token that another can follow in one word; -1: there is none.
std::int64_t first_with_text(const Tokenizer& tokenizer) {
    for (std::int64_t id = 0; id < tokenizer.size(); ++id) {
        const auto text = tokenizer.specials().holds(id) ? "" : tokenizer.decode({id});
        if (!text.empty() && !is_space(text.back()) && static_cast<unsigned char>(text.back()) < 0x80U)
            return id;
    }
    return -1;
}

}  // namespace

std::vector<bool> word_continuations(const Tokenizer& tokenizer) {
    std::vector<bool> continues(static_cast<std::size_t>(tokenizer.size()), false);
    const auto before = first_with_text(tokenizer);
    if (before < 0) return continues;
    const auto length = tokenizer.decode({before}).size();
    for (std::int64_t id = 0; id < tokenizer.size(); ++id) {
        if (tokenizer.specials().holds(id)) continue;
        const auto both = tokenizer.decode({before, id});
        continues[static_cast<std::size_t>(id)] = both.size() > length && !is_space(both[length]);
    }
    return continues;
}

}  // namespace switchyard::data
