#include "core/workbench/data/tokenizers/tokenizer.h"

#include <algorithm>

#include <utf8proc.h>

namespace switchyard::data {

std::vector<std::int64_t> Tokenizer::encode_with_specials(std::string_view text, std::int64_t max_length,
                                                          bool* cut) const {
    auto ids = encode(text);
    const auto room = static_cast<std::size_t>(std::max<std::int64_t>(0, max_length - 2));
    const bool too_long = max_length > 0 && ids.size() > room;
    if (too_long) ids.resize(room);
    if (cut != nullptr) *cut = too_long;
    ids.insert(ids.begin(), specials_.bos);
    ids.push_back(specials_.eos);
    return ids;
}

std::size_t find_invalid_utf8(std::string_view text) {
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    const auto size = static_cast<utf8proc_ssize_t>(text.size());
    for (utf8proc_ssize_t at = 0; at < size;) {
        utf8proc_int32_t codepoint = 0;
        const auto length = utf8proc_iterate(bytes + at, size - at, &codepoint);
        if (length <= 0) return static_cast<std::size_t>(at);
        at += length;
    }
    return std::string_view::npos;
}

}  // namespace switchyard::data
