#include "core/workbench/data/tokenizers/bert_normalizer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <utf8proc.h>

namespace switchyard::data {
namespace {

using Codepoint = utf8proc_int32_t;

// Unicode's White_Space property.
bool is_white_space(Codepoint c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

bool is_removed(Codepoint c) {
    if (c == '\t' || c == '\n' || c == '\r') return false;
    if (c == 0 || c == 0xFFFD) return true;
    const auto category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_CO || category == UTF8PROC_CATEGORY_CS;
}

bool is_punctuation(Codepoint c) {
    if (c < 128)
        return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
    const auto category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

// The ranges of huggingface/tokenizers' BertNormalizer, including its 0x2B920, which in Unicode is 0x2B820.
bool is_ideograph(Codepoint c) {
    constexpr std::array<std::pair<Codepoint, Codepoint>, 8> ranges{{{0x4E00, 0x9FFF},
                                                                     {0x3400, 0x4DBF},
                                                                     {0x20000, 0x2A6DF},
                                                                     {0x2A700, 0x2B73F},
                                                                     {0x2B740, 0x2B81F},
                                                                     {0x2B920, 0x2CEAF},
                                                                     {0xF900, 0xFAFF},
                                                                     {0x2F800, 0x2FA1F}}};
    return c >= 0x3400 && std::any_of(ranges.begin(), ranges.end(),
                                      [c](const auto& r) { return c >= r.first && c <= r.second; });
}

class Words {
public:
    Words(bool lower_case, const std::function<void(std::string_view)>& word)
        : lower_case_(lower_case), word_(word) {}

    void add(Codepoint c) {
        if (is_removed(c)) return;
        if (is_white_space(c)) return flush();
        if (is_ideograph(c)) {
            flush();
            add_normalized(c);
            return flush();
        }
        add_normalized(c);
    }

    void flush() {
        if (!current_.empty()) word_(current_);
        current_.clear();
    }

private:
    void add_normalized(Codepoint c) {
        if (!lower_case_) return append(c);
        if (c < 128) return append(c >= 'A' && c <= 'Z' ? c + 32 : c);
        std::array<Codepoint, 32> decomposed;  // the longest canonical decomposition has 4 code points
        int boundary = 0;
        const auto count =
            utf8proc_decompose_char(c, decomposed.data(), decomposed.size(), UTF8PROC_DECOMPOSE, &boundary);
        for (utf8proc_ssize_t i = 0; i < count; ++i) {
            if (utf8proc_category(decomposed[i]) != UTF8PROC_CATEGORY_MN)
                append(utf8proc_tolower(decomposed[i]));
        }
    }

    void append(Codepoint c) {
        if (is_white_space(c)) return flush();  // a decomposition may hold a space
        const bool alone = is_punctuation(c);
        if (alone) flush();
        std::array<utf8proc_uint8_t, 4> bytes;
        const auto count = utf8proc_encode_char(c, bytes.data());
        current_.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(count));
        if (alone) flush();
    }

    bool lower_case_;
    const std::function<void(std::string_view)>& word_;
    std::string current_;
};

}  // namespace

void for_each_bert_word(std::string_view text, bool lower_case,
                        const std::function<void(std::string_view)>& word) {
    Words words(lower_case, word);
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    std::size_t at = 0;
    while (at < text.size()) {
        Codepoint c = bytes[at];
        if (c < 128) {
            ++at;
        } else {
            const auto used =
                utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at), &c);
            if (used <= 0) c = 0xFFFD;
            at += used <= 0 ? 1 : static_cast<std::size_t>(used);
        }
        words.add(c);
    }
    words.flush();
}

}  // namespace switchyard::data
