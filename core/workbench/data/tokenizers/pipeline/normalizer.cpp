#include "core/workbench/data/tokenizers/pipeline/normalizer.h"

#include <algorithm>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/limits.h"
#include "core/workbench/data/tokenizers/pipeline/byte_alphabet.h"
#include "core/workbench/data/tokenizers/pipeline/characters.h"
#include "core/workbench/data/tokenizers/pipeline/code_points.h"

namespace switchyard::data {
namespace {

// Each character becomes what `each(character, put)` puts in its place.
template <class Each>
void rewrite_characters(NormalizedText& text, const Each& each) {
    std::string result;
    result.reserve(text.text.size());
    std::size_t from_start = 0;
    const auto put = [&](char32_t c) { append_code_point(result, c); };
    for (std::size_t at = 0; at < text.text.size();) {
        const auto c = code_point_at(text.text, at);
        each(c.value, put);
        if (at < text.from_start) from_start = result.size();
        at += c.size;
    }
    text.text = std::move(result);
    text.from_start = from_start;
}

bool is_ascii(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
}

bool is_cleaned(char32_t c) {
    if (c < 0x80) return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
    return c == 0xFFFD || is_control_character(c);
}

}  // namespace

void require_bounded_spelling(std::size_t bytes) {
    if (bytes > base::limits::file_bytes)
        throw base::InputError("the tokenizer's normalizer or decoder makes more than " +
                               std::to_string(base::limits::file_bytes) + " bytes of one text");
}

void BertSpelling::apply(NormalizedText& text) const {
    const bool clean = options_.clean_text, lower = options_.lowercase;
    if (is_ascii(text.text)) {  // nothing decomposes, and no character becomes several
        return rewrite_characters(text, [&](char32_t c, const auto& put) {
            if (clean && is_cleaned(c)) return;
            if (clean && is_white_space(c)) return put(' ');
            put(lower && c >= 'A' && c <= 'Z' ? c + 32 : c);
        });
    }
    if (clean || options_.handle_chinese_chars) {
        rewrite_characters(text, [&](char32_t c, const auto& put) {
            if (clean && is_cleaned(c)) return;
            const bool alone = options_.handle_chinese_chars && is_ideograph(c);
            if (alone) put(' ');
            put(clean && is_white_space(c) ? ' ' : c);
            if (alone) put(' ');
        });
    }
    if (options_.strip_accents) {
        ToNormalForm(NormalForm::nfd).apply(text);
        rewrite_characters(text, [](char32_t c, const auto& put) {
            if (!is_nonspacing_mark(c)) put(c);
        });
    }
    if (lower) LowerCase().apply(text);
}

void ToNormalForm::apply(NormalizedText& text) const {
    if (!may_change(text.text, form_)) return;
    // What the first character becomes, together with what combines with it.
    if (text.from_start > 0) {
        auto alone = normal_form(std::string_view(text.text).substr(0, text.from_start), form_);
        text.text = normal_form(text.text, form_);
        text.from_start = text.text.starts_with(alone) ? alone.size() : code_point_at(text.text, 0).size;
        return;
    }
    text.text = normal_form(text.text, form_);
}

void LowerCase::apply(NormalizedText& text) const {
    rewrite_characters(text, [](char32_t c, const auto& put) { for_each_lower_case(c, put); });
}

void StripSpace::apply(NormalizedText& text) const {
    const std::string_view all = text.text;
    std::size_t begin = 0, end = all.size();
    while (left_ && begin < end && is_white_space(code_point_at(all, begin).value))
        begin += code_point_at(all, begin).size;
    while (right_ && begin < end) {
        const auto last = last_code_point(all.substr(0, end));
        if (!is_white_space(code_point_at(all, last).value)) break;
        end = last;
    }
    text.from_start = std::min(text.from_start > begin ? text.from_start - begin : 0, end - begin);
    text.text = std::string(all.substr(begin, end - begin));
}

void StripMarks::apply(NormalizedText& text) const {
    rewrite_characters(text, [](char32_t c, const auto& put) {
        if (!is_combining_mark(c)) put(c);
    });
}

// What replaces a match comes from the match's last character.
void ReplaceMatches::apply(NormalizedText& text) const {
    std::vector<Stretch> stretches;
    pattern_.find_all(text.text, stretches);
    if (std::none_of(stretches.begin(), stretches.end(), [](const Stretch& s) { return s.delimiter; }))
        return;
    std::string result;
    std::size_t from_start = 0;
    for (const auto& [begin, end, matched] : stretches) {
        const auto whole = std::string_view(text.text).substr(begin, end - begin);
        if (matched) {
            require_bounded_spelling(result.size() + content_.size());
            result += content_;
            const auto source = end == 0 ? 0 : last_code_point(std::string_view(text.text).substr(0, end));
            if (source < text.from_start) from_start = result.size();
        } else {
            const auto left = text.from_start > begin ? std::min(text.from_start - begin, end - begin) : 0;
            if (left > 0) from_start = result.size() + left;
            result += whole;
        }
    }
    text.text = std::move(result);
    text.from_start = from_start;
}

void PrependText::apply(NormalizedText& text) const {
    if (text.text.empty()) return;
    require_bounded_spelling(text.text.size() + prefix_.size());
    text.text.insert(0, prefix_);
    if (text.from_start > 0) text.from_start += prefix_.size();
}

void NmtSpelling::apply(NormalizedText& text) const {
    rewrite_characters(text, [](char32_t c, const auto& put) {
        const bool goes = (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
                          c == 0x8F || c == 0x9F;
        const bool spaces = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                            (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                            c == 0xFEFF || c == 0xFFFD;
        if (!goes) put(spaces ? ' ' : c);
    });
}

void ByteAlphabet::apply(NormalizedText& text) const {
    std::string result;
    std::size_t from_start = 0;
    for (std::size_t at = 0; at < text.text.size(); ++at) {
        append_code_point(result, character_of_byte(static_cast<unsigned char>(text.text[at])));
        if (at < text.from_start) from_start = result.size();
    }
    text.text = std::move(result);
    text.from_start = from_start;
}

}  // namespace switchyard::data
