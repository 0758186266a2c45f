#include "core/workbench/infer/growing_text.h"

#include <algorithm>

namespace switchyard::infer {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// Bytes of a character that begins so; 0: none does.
std::size_t bytes_of_character(unsigned char first) {
    if (first >= 0xF0) return 4;
    if (first >= 0xE0) return 3;
    return first >= 0xC0 ? 2 : 0;
}

std::size_t end_of_words(const std::string& text) { return text.find_last_not_of(" \t\r\n\v\f") + 1; }

}  // namespace

std::size_t whole_characters(std::string_view text) {
    const auto all = text.size();
    for (std::size_t back = 1; back <= std::min<std::size_t>(3, all); ++back) {
        const auto byte = static_cast<unsigned char>(text[all - back]);
        if ((byte & 0xC0U) == 0x80U) continue;
        if (bytes_of_character(byte) > back) return all - back;
        break;
    }
    // A character has four bytes at most, of which three can stand alone.
    for (int i = 0; i < 3 && text.ends_with(replacement); ++i) text.remove_suffix(replacement.size());
    return text.size();
}

GrowingText::GrowingText(const data::Tokenizer& tokenizer, const std::string& prompt)
    : tokenizer_(tokenizer),
      prompt_(prompt),
      kept_(prompt.substr(0, end_of_words(prompt))),
      window_(tokenizer.encode(prompt)),
      text_(prompt),
      begin_of_new_(prompt.size()) {
    known_ = tokenizer_.decode(window_);
    from_ = end_of_words(known_);
}

void GrowingText::update(const Ids& ids) {
    if (taken_ == ids.size()) return;
    window_.insert(window_.end(), ids.begin() + static_cast<std::ptrdiff_t>(taken_), ids.end());
    taken_ = ids.size();
    const auto whole = tokenizer_.decode(window_);
    if (whole.starts_with(known_)) {
        text_ = kept_ + whole.substr(from_);
    } else if (!settled_) {  // the prompt is written otherwise
        text_ = whole;
    } else {
        text_ = kept_ + whole.substr(std::min(from_, whole.size()));
    }
    begin_of_new_ = std::min(end_of_words(prompt_), text_.size());
    while (begin_of_new_ < std::min(prompt_.size(), text_.size()) &&
           text_[begin_of_new_] == prompt_[begin_of_new_])
        ++begin_of_new_;
    settle();
}

// Long texts are not decoded from their beginning for every token: the last tokens say how the next one is
// written.
void GrowingText::settle() {
    constexpr std::size_t longest = 256, left = 32;
    if (window_.size() <= longest || whole_characters(text_) != text_.size()) return;
    window_.erase(window_.begin(), window_.end() - static_cast<std::ptrdiff_t>(left));
    settled_ = true;
    kept_ = text_;
    known_ = tokenizer_.decode(window_);
    from_ = known_.size();
}

}  // namespace switchyard::infer
