// Foreign text before it reaches a terminal. To add a case: a text and what must be shown of it.
#include <string>
#include <utility>
#include <vector>

#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"

#include <switchyard_test.h>

using namespace switchyard;

TEST_CASE("what could steer a terminal is written out, and all else is left as it is") {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"a moving film", "a moving film"},
        {"Bär 熊 🐻", "Bär 熊 🐻"},
        {"a\tb\r\nc", "a\\tb\\r\\nc"},
        {"\033]0;title\007", "\\x1b]0;title\\x07"},
        {std::string("a\0b", 3), "a\\x00b"},
        {"\x7f", "\\u007f"},
        {"\xc2\x9b"
         "31m",
         "\\u009b31m"},  // the C1 form of ESC [
        {"\xe2\x80\xae"
         "txt.exe",
         "\\u202etxt.exe"},  // right-to-left override
        {"\xff\xfe", "\\xff\\xfe"},
        {"\xe7\x86", "\\xe7\\x86"},           // cut in the middle
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // a lone surrogate is no UTF-8
    };
    for (const auto& [text, expected] : cases) {
        INFO(expected);
        CHECK(base::printable(text) == expected);
        CHECK(base::printable(expected) == expected);
    }
    CHECK(base::printable_lines("a\tb\nc\033") == "a\tb\nc\\x1b");
}

TEST_CASE("a quoted text is cut at its limit, which counts characters") {
    const auto most = base::limits::quoted_characters;
    std::string bears;
    for (std::size_t i = 0; i < most; ++i) bears += "熊";
    CHECK(base::quoted(bears) == bears);
    CHECK(base::quoted(bears + "!") == bears + "... (" + std::to_string(most + 1) + " characters)");
}

TEST_CASE("columns are counted as a terminal takes them") {
    CHECK(base::columns_of("") == 0);
    CHECK(base::columns_of("abc") == 3);
    CHECK(base::columns_of("熊熊") == 4);
    CHECK(base::columns_of("a\xcc\x88") == 1);  // a and a combining diaeresis
    CHECK(base::columns_of("\xff") == 1);
}
