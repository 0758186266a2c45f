#include "core/workbench/data/tokenizers/pipeline/charsmap.h"

#include <array>

#include <utf8proc.h>

#include "core/kernel/base/input_error.h"
#include "core/workbench/data/tokenizers/pipeline/code_points.h"

namespace switchyard::data {
namespace {

// RFC 4648, with its padding.
std::string decoded_base64(std::string_view text) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    if (text.size() % 4 != 0) throw base::InputError("is not base64: its length is no multiple of 4");
    const auto padding = text.ends_with("==") ? 2U : text.ends_with("=") ? 1U : 0U;
    text.remove_suffix(padding);
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto digit = digits.find(text[at]);
        if (digit == std::string_view::npos)
            throw base::InputError("is not base64 at character " + std::to_string(at + 1));
        bits = bits << 6U | static_cast<std::uint32_t>(digit);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes += static_cast<char>(bits >> count & 0xFFU);
    }
    return bytes;
}

std::uint32_t little_endian(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

// Where the grapheme cluster (UAX 29) that begins at `at` ends.
std::size_t end_of_grapheme(std::string_view text, std::size_t at) {
    utf8proc_int32_t state = 0;
    auto c = code_point_at(text, at);
    for (at += c.size; at < text.size(); at += c.size) {
        const auto before = static_cast<utf8proc_int32_t>(c.value);
        c = code_point_at(text, at);
        if (utf8proc_grapheme_break_stateful(before, static_cast<utf8proc_int32_t>(c.value), &state)) break;
    }
    return at;
}

constexpr std::size_t too_long_a_key = 6;

}  // namespace

CharsmapSpelling::CharsmapSpelling(std::string_view base64) {
    const auto bytes = decoded_base64(base64);
    if (bytes.size() < 4) throw base::InputError("has no table");
    const std::size_t size = little_endian(bytes, 0) / 4 * 4;
    if (size == 0 || size > bytes.size() - 4)
        throw base::InputError("has a table of " + std::to_string(size) + " bytes in " +
                               std::to_string(bytes.size()));
    for (std::size_t at = 4; at < 4 + size; at += 4) units_.push_back(little_endian(bytes, at));
    texts_ = bytes.substr(4 + size);
    for (std::size_t at = 0; at < texts_.size(); at += code_point_at(texts_, at).size) {
        if (broken_bytes_at(texts_, at) > 0)
            throw base::InputError("has texts that are no UTF-8 at byte " + std::to_string(at + 1));
    }
}

// Nothing: the table says nothing of any prefix of the key.
std::optional<std::string_view> CharsmapSpelling::spelling_of(std::string_view key) const {
    const auto offset = [](std::uint32_t unit) {
        return static_cast<std::size_t>(unit >> 10U) << ((unit & 1U << 9U) >> 6U);
    };
    std::size_t node = offset(units_[0]);
    for (const char c : key) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte == 0) break;
        node ^= byte;
        if (node >= units_.size()) break;
        const auto unit = units_[node];
        if ((unit & (1U << 31U | 0xFFU)) != byte) break;
        node ^= offset(unit);
        if ((unit >> 8U & 1U) == 0) continue;
        if (node >= units_.size()) break;
        const std::size_t at = units_[node] & ((1U << 31U) - 1);
        if (at > texts_.size()) break;
        if (at < texts_.size() && (static_cast<unsigned char>(texts_[at]) & 0xC0U) == 0x80U) break;
        const auto rest = std::string_view(texts_).substr(at);
        return rest.substr(0, rest.find('\0'));
    }
    return std::nullopt;
}

void CharsmapSpelling::apply(NormalizedText& text) const {
    std::string result;
    result.reserve(text.text.size());
    std::size_t from_start = 0;
    const std::string_view all = text.text;
    const auto put = [&](std::size_t begin, std::string_view spelling) {
        require_bounded_spelling(result.size() + spelling.size());
        result += spelling;
        if (begin < text.from_start) from_start = result.size();
    };
    for (std::size_t at = 0; at < all.size();) {
        const auto end = end_of_grapheme(all, at);
        if (end - at < too_long_a_key) {
            if (const auto spelling = spelling_of(all.substr(at, end - at))) {
                put(at, *spelling);
                at = end;
                continue;
            }
        }
        for (; at < end;) {
            const auto character = all.substr(at, code_point_at(all, at).size);
            put(at, spelling_of(character).value_or(character));
            at += character.size();
        }
    }
    text.text = std::move(result);
    text.from_start = from_start;
}

}  // namespace switchyard::data
