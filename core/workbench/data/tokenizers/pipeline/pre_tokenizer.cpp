#include "core/workbench/data/tokenizers/pipeline/pre_tokenizer.h"

#include "core/workbench/data/tokenizers/pipeline/byte_alphabet.h"
#include "core/workbench/data/tokenizers/pipeline/characters.h"
#include "core/workbench/data/tokenizers/pipeline/code_points.h"

namespace switchyard::data {
namespace {

// The expression of openai/gpt-2's encoder.py.
constexpr const char* gpt2_words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Cuts into runs of characters of one class, and drops those of class `dropped`; characters of class `alone`
// are runs by themselves.
template <class Classify>
void cut_runs(const TextPart& part, const Classify& classify, int dropped, int alone,
              std::vector<TextPart>& parts) {
    std::size_t begin = 0;
    int current = dropped;
    for (std::size_t at = 0; at < part.text.size();) {
        const auto c = code_point_at(part.text, at);
        const int now = classify(c.value);
        if (now != current || now == alone) {
            if (current != dropped && begin < at) parts.push_back(part.part(begin, at));
            begin = at;
            current = now;
        }
        at += c.size;
    }
    if (current != dropped && begin < part.text.size()) parts.push_back(part.part(begin, part.text.size()));
}

}  // namespace

void BertWords::cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory&) const {
    cut_runs(
        part, [](char32_t c) { return is_white_space(c)        ? 0
                                      : is_punctuation_mark(c) ? 2
                                                               : 1; }, 0, 2, parts);
}

void SpacedWords::cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory&) const {
    cut_runs(
        part, [](char32_t c) { return is_white_space(c) ? 0 : 1; }, 0, 2, parts);
}

void WordsAndSigns::cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory&) const {
    cut_runs(
        part, [](char32_t c) { return is_white_space(c)      ? 0
                                      : is_word_character(c) ? 1
                                                             : 3; }, 0, 2, parts);
}

void SplitAtCharacters::cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory& memory) const {
    auto& stretches = memory.stretches;
    stretches.clear();
    std::size_t covered = 0;
    for (std::size_t at = 0; at < part.text.size();) {
        const auto c = code_point_at(part.text, at);
        if (kind_(c.value)) {
            if (covered < at) stretches.push_back({covered, at, false});
            covered = at + c.size;
            stretches.push_back({at, covered, true});
        }
        at += c.size;
    }
    if (covered < part.text.size()) stretches.push_back({covered, part.text.size(), false});
    split_part(part, stretches, behavior_, parts);
}

void SplitAtMatches::cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory& memory) const {
    pattern_.find_all(part.text, memory.stretches);
    if (inverted_) {
        for (auto& stretch : memory.stretches) stretch.delimiter = !stretch.delimiter;
    }
    split_part(part, memory.stretches, behavior_, parts);
}

ByteLevelWords::ByteLevelWords(const Options& options) : options_(options) {
    if (options_.use_regex) expression_ = std::make_shared<const Expression>(gpt2_words);
}

void ByteLevelWords::cut(const TextPart& whole, std::vector<TextPart>& parts, CutMemory& memory) const {
    TextPart part = whole;
    if (options_.add_prefix_space && part.text[0] != ' ') {
        char* const text = memory.texts.take(part.text.size() + 1);
        text[0] = ' ';
        part.text.copy(text + 1, part.text.size());
        part = {{text, part.text.size() + 1}, part.from_start > 0 ? part.from_start + 1 : 0};
    }
    const auto put = [&](const TextPart& word) {
        if (options_.keep_bytes) return parts.push_back(word);
        char* const text = memory.texts.take(word.text.size() * 2);
        std::size_t size = 0, from_start = 0;
        for (std::size_t i = 0; i < word.text.size(); ++i) {
            const auto c = character_of_byte(static_cast<unsigned char>(word.text[i]));
            if (c < 0x80) {
                text[size++] = static_cast<char>(c);
            } else {
                text[size++] = static_cast<char>(0xC0U | c >> 6U);
                text[size++] = static_cast<char>(0x80U | (c & 0x3FU));
            }
            if (i < word.from_start) from_start = size;
        }
        parts.push_back({{text, size}, from_start});
    };
    if (!expression_) return put(part);
    Expression::Search search(*expression_, part.text);
    TextMatch match;
    std::size_t covered = 0;
    while (covered < part.text.size() && search.find(covered, match)) {
        if (covered < match.begin) put(part.part(covered, match.begin));
        put(part.part(match.begin, match.end));
        covered = match.end;
    }
    if (covered < part.text.size()) put(part.part(covered, part.text.size()));
}

void MetaspaceWords::cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory& memory) const {
    const auto& sign = options_.replacement;
    const bool begun = part.text.starts_with(sign) || part.text[0] == ' ';
    const bool prepends = !begun && (options_.prepend == Prepend::always ||
                                     (options_.prepend == Prepend::first && part.from_start > 0));
    std::size_t size = part.text.size() + (prepends ? sign.size() : 0);
    for (const char c : part.text) size += c == ' ' ? sign.size() - 1 : 0;
    char* const text = memory.texts.take(size);
    std::size_t written = 0, from_start = 0;
    const auto put = [&](std::string_view bytes) {
        bytes.copy(text + written, bytes.size());
        written += bytes.size();
    };
    if (prepends) put(sign);
    for (std::size_t i = 0; i < part.text.size(); ++i) {
        const char c = part.text[i];
        if (c == ' ')
            put(sign);
        else
            text[written++] = c;
        if (i < part.from_start) from_start = written;
    }
    const TextPart made{{text, size}, from_start};
    if (!options_.split) return parts.push_back(made);
    // Each sign begins a part, but of several behind one another each is one of its own.
    auto& stretches = memory.stretches;
    stretches.clear();
    std::size_t covered = 0;
    for (auto at = made.text.find(sign); at != std::string_view::npos; at = made.text.find(sign, covered)) {
        if (covered < at) stretches.push_back({covered, at, false});
        covered = at + sign.size();
        stretches.push_back({at, covered, true});
    }
    if (covered < size) stretches.push_back({covered, size, false});
    split_part(made, stretches, SplitBehavior::merged_with_next, parts);
}

void FixedLengths::cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory&) const {
    std::size_t begin = 0, count = 0;
    for (std::size_t at = 0; at < part.text.size();) {
        at += code_point_at(part.text, at).size;
        if (++count < characters_ && at < part.text.size()) continue;
        parts.push_back(part.part(begin, at));
        begin = at;
        count = 0;
    }
}

}  // namespace switchyard::data
