// Foreign text on its way to a terminal: whatever it is, what comes out is UTF-8 and can neither move the
// cursor nor turn the direction of text.
#include "core/kernel/base/printable.h"
#include "core/kernel/base/limits.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;

// Unicode 15.1: general category Cc, and the property Bidi_Control.
bool is_harmful(char32_t c) {
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

std::size_t require_harmless(const std::string& text, bool lines) {
    const auto points = code_points(text);
    require(points.has_value(), "the result is no UTF-8", text);
    for (const auto point : *points)
        require(!is_harmful(point) || (lines && (point == '\n' || point == '\t')),
                "a control character is left", text);
    return points->size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    namespace base = switchyard::base;
    const auto text = text_of(data, size);
    const auto line = base::printable(text);
    const auto lines = base::printable_lines(text);
    const auto count = require_harmless(line, false);
    require_harmless(lines, true);
    require(base::printable(line) == line, "what is printable is escaped again", line);
    require(base::printable_lines(lines) == lines, "lines that are printable are escaped again", lines);
    require(base::columns_of(line) <= 2 * count, "more than two columns a character", line);

    const auto quote = base::quoted(text);
    const auto quote_count = require_harmless(quote, false);
    constexpr std::size_t written_out = 6, note = 40;  // "\u202e", "... (N characters)"
    require(quote_count <= written_out * base::limits::quoted_characters + note, "a quote is too long",
            quote);
    require(count > base::limits::quoted_characters || quote == line, "a short quote is changed", quote);

    bool plain = true;
    for (const char c : text) plain = plain && c >= 0x20 && c < 0x7f;
    require(!plain || (line == text && base::columns_of(text) == text.size()), "plain ASCII is changed",
            line);
    return 0;
}
