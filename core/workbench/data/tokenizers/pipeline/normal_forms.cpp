#include "core/workbench/data/tokenizers/pipeline/normal_forms.h"

#include <algorithm>
#include <array>
#include <vector>

#include <utf8proc.h>

#include "core/workbench/data/tokenizers/pipeline/characters.h"
#include "core/workbench/data/tokenizers/pipeline/code_points.h"

namespace switchyard::data {
namespace {

bool is_inert(char32_t c) {
    static const CharacterSet set(character_ranges::inert);
    return c >= 0x300 && set.holds(c);
}

// Code points decomposed and in canonical order, up to one that no form touches.
class Decomposition {
public:
    explicit Decomposition(NormalForm form) {
        compatible_ = form == NormalForm::nfkc || form == NormalForm::nfkd;
        composed_ = form == NormalForm::nfc || form == NormalForm::nfkc;
    }

    void add(char32_t c) {
        if (c < 0x80) return put(c, 0);
        std::array<utf8proc_int32_t, 32> parts;  // the longest compatible decomposition has 18
        int boundary = 0;
        const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                            (compatible_ ? UTF8PROC_COMPAT : 0));
        const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                                   parts.size(), options, &boundary);
        for (utf8proc_ssize_t i = 0; i < count && i < static_cast<utf8proc_ssize_t>(parts.size()); ++i)
            put(static_cast<char32_t>(parts[i]), utf8proc_get_property(parts[i])->combining_class);
    }

    void flush(std::string& text) {
        end_marks();
        auto size = static_cast<utf8proc_ssize_t>(points_.size());
        if (composed_ && size > 1) {
            const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
            size = utf8proc_normalize_utf32(points_.data(), size, options);
        }
        for (utf8proc_ssize_t i = 0; i < size; ++i)
            append_code_point(text, static_cast<char32_t>(points_[static_cast<std::size_t>(i)]));
        points_.clear();
    }

private:
    struct Mark {
        utf8proc_propval_t combining;
        utf8proc_int32_t point;
    };

    void put(char32_t c, utf8proc_propval_t combining) {
        if (combining != 0) return marks_.push_back({combining, static_cast<utf8proc_int32_t>(c)});
        end_marks();
        points_.push_back(static_cast<utf8proc_int32_t>(c));
    }

    // Marks behind one another are ordered by their class; those of one class stay in order.
    void end_marks() {
        if (marks_.empty()) return;
        std::stable_sort(marks_.begin(), marks_.end(),
                         [](const Mark& a, const Mark& b) { return a.combining < b.combining; });
        for (const auto& mark : marks_) points_.push_back(mark.point);
        marks_.clear();
    }

    bool compatible_, composed_;
    std::vector<utf8proc_int32_t> points_;
    std::vector<Mark> marks_;
};

}  // namespace

// Below U+0300 nothing combines; below U+00C0 nothing has a canonical decomposition, below U+00A0 nothing has
// a compatible one.
bool may_change(std::string_view text, NormalForm form) {
    const unsigned char first = form == NormalForm::nfc ? 0xCC : form == NormalForm::nfd ? 0xC3 : 0xC2;
    return std::any_of(text.begin(), text.end(),
                       [&](char c) { return static_cast<unsigned char>(c) >= first; });
}

std::string normal_form(std::string_view text, NormalForm form) {
    if (!may_change(text, form)) return std::string(text);
    std::string result;
    result.reserve(text.size() + text.size() / 8);
    Decomposition decomposition(form);
    for (std::size_t at = 0; at < text.size();) {
        const auto c = code_point_at(text, at);
        at += c.size;
        if (is_inert(c.value)) {
            decomposition.flush(result);
            append_code_point(result, c.value);
        } else {
            decomposition.add(c.value);
        }
    }
    decomposition.flush(result);
    return result;
}

}  // namespace switchyard::data
