#include "core/workbench/data/tokenizers/pipeline/code_points.h"

namespace switchyard::data {

// Table 3-7 of the Unicode Standard: what may follow a first byte.
std::size_t broken_bytes_at(std::string_view text, std::size_t at) {
    const auto first = static_cast<unsigned char>(text[at]);
    if (first < 0x80) return 0;
    if (first < 0xC2 || first > 0xF4) return 1;
    const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    unsigned low = 0x80, high = 0xBF;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
    for (std::size_t i = 1; i < size; ++i, low = 0x80, high = 0xBF) {
        if (at + i == text.size()) return i;
        const auto byte = static_cast<unsigned char>(text[at + i]);
        if (byte < low || byte > high) return i;
    }
    return 0;
}

std::string repaired_utf8(std::string_view text) {
    std::string repaired;
    for (std::size_t at = 0; at < text.size();) {
        const auto broken = broken_bytes_at(text, at);
        const auto size = broken > 0 ? broken : code_point_at(text, at).size;
        repaired += broken > 0 ? "\xEF\xBF\xBD" : text.substr(at, size);
        at += size;
    }
    return repaired;
}

}  // namespace switchyard::data
