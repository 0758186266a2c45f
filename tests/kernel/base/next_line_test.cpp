// Lines of a text up to a limit. To add a case: a text and its lines.
#include <sstream>
#include <string>
#include <vector>

#include "core/kernel/base/next_line.h"

#include <switchyard_test.h>

using switchyard::base::Line;
using Lines = std::vector<std::string>;

namespace {

// Those that are too long with "..." behind them.
Lines lines_of(const std::string& text, std::size_t most = 100) {
    std::istringstream stream(text);
    Lines lines;
    std::string line;
    for (Line read; (read = switchyard::base::next_line(*stream.rdbuf(), line, most)) != Line::none;)
        lines.push_back(read == Line::whole ? line : line + "...");
    return lines;
}

}  // namespace

TEST_CASE("a text is cut at its line ends") {
    CHECK(lines_of("").empty());
    CHECK(lines_of("\n") == Lines{""});
    CHECK(lines_of("a\nb") == Lines{"a", "b"});
    CHECK(lines_of("a\r\n\r\nb\r\n") == Lines{"a", "", "b"});
    CHECK(lines_of("a\rb\n") == Lines{"a\rb"});
    CHECK(lines_of(std::string("a\0b\n", 4)) == Lines{std::string("a\0b", 3)});
}

TEST_CASE("of a line no more is kept than its limit, and the next one is read") {
    CHECK(lines_of("abcd\nabcde\nabcd", 4) == Lines{"abcd", "abcd...", "abcd"});
    CHECK(lines_of("abcd\r\nabcde\r\nab", 4) == Lines{"abcd", "abcd...", "ab"});
}
