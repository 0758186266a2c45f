#include "core/workbench/data/tokenizers/byte_tokenizer.h"

namespace switchyard::data {

std::vector<std::int64_t> ByteTokenizer::encode(std::string_view text) const {
    std::vector<std::int64_t> ids;
    ids.reserve(text.size());
    for (const char c : text) ids.push_back(first_byte + static_cast<unsigned char>(c));
    return ids;
}

std::string ByteTokenizer::decode(const std::vector<std::int64_t>& ids) const {
    std::string text;
    for (const auto id : ids) {
        if (id >= first_byte && id < size()) text += static_cast<char>(id - first_byte);
    }
    return text;
}

}  // namespace switchyard::data
