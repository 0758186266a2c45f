// Texts and numbers as they stand on the page. To add a case: one line in a table.
#include <cmath>

#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/number_text.h"

#include <switchyard_test.h>

#include "balanced.h"

using namespace switchyard::report;
using switchyard::test::contains;

TEST_CASE("what means something in HTML is escaped") {
    CHECK(escape("<script>alert(\"a\" & 'b')</script>") ==
          "&lt;script&gt;alert(&quot;a&quot; &amp; &#39;b&#39;)&lt;/script&gt;");
    CHECK(escape("plain, ±2 × 3 µs\n\tindented") == "plain, ±2 × 3 µs\n\tindented");
    CHECK(escape("") == "");
}

TEST_CASE("bytes that are no text become the replacement character") {
    const std::string r = "\xef\xbf\xbd";
    CHECK(escape(std::string("a\0b\x1b[0m\x7f", 8)) == "a" + r + "b" + r + "[0m" + r);
    CHECK(escape("\xff") == r);
    CHECK(escape("\xc3(") == r + "(");                   // a lead byte without its second
    CHECK(escape("\xe2\x82") == r + r);                  // cut off
    CHECK(escape("\xc0\xaf") == r + r);                  // overlong "/"
    CHECK(escape("\xed\xa0\x80") == r + r + r);          // half a surrogate pair
    CHECK(escape("\xf4\x90\x80\x80") == r + r + r + r);  // beyond U+10FFFF
    CHECK(escape("\xf0\x9f\x9a\x82") == "\xf0\x9f\x9a\x82");
}

TEST_CASE("long texts are cut between characters") {
    CHECK(shortened("abcdef", 6) == "abcdef");
    CHECK(shortened("abcdefg", 6) == "abcde…");
    CHECK(shortened("äöüäöü", 6) == "äöüäöü");
    CHECK(shortened("äöüäöüx", 4) == "äöü…");
    CHECK(shortened("expected cuda, got cpu", 20) == "expected cuda, got…");
    CHECK(shortened("expected cuda, got cpu", 17) == "expected cuda,…");
    CHECK(shortened("expected cuda, got cpu", 15) == "expected cuda,…");
    CHECK(shortened("two words", 9) == "two words");
    CHECK(shortened("a " + std::string(50, 'x'), 40) == "a " + std::string(37, 'x') + "…");
}

TEST_CASE("numbers keep the digits that were asked for, and whole numbers all of theirs") {
    CHECK(page_number(0.0) == "0");
    CHECK(page_number(0.67584) == "0.676");
    CHECK(page_number(12561, 1) == "12,561");
    CHECK(page_number(1234567.8) == "1,234,568");
    CHECK(page_number(-1234.5, 1) == "-1,234");
    CHECK(page_number(4.1e-7) == "4.1e-7");
    CHECK(page_number(476.613) == "477");
    CHECK(page_number(INFINITY) == "not finite");
    CHECK(page_interval({1.5, 1.25, 1.755}) == "1.50 [1.25, 1.75]");
    CHECK(page_ratio({1.5, 0.25, 1234.6}) == "1.50 [0.250, 1,235]");
    CHECK(page_ratio({1.02, 1.23e-7, 34'000'000.0}) == "1.02 [1.2e-7, 3.4e7]");
}

TEST_CASE("times have units that fit") {
    CHECK(duration_text(7.25) == "7.2 s");
    CHECK(duration_text(41.4) == "41 s");
    CHECK(duration_text(59.7) == "1 min 0 s");
    CHECK(duration_text(192) == "3 min 12 s");
    CHECK(duration_text(7500) == "2 h 5 min");
}

TEST_CASE("a cell carries the title of its column, for the card that it becomes") {
    HtmlTable table({{"A & B"}, {"n", true}});
    table.row({"<em>x</em>", ""});
    CHECK_THAT(table.html(), contains("<td data-label=\"A &amp; B\"><div><em>x</em></div></td>"));
    CHECK_THAT(table.html(), contains("<td class=\"number empty\" data-label=\"n\"><div></div></td>"));
}

TEST_CASE("the title of a column may be broken, but not within the share of an interval") {
    CHECK_THAT(HtmlTable({{"ms a step [95 %]", true}}).html(), contains("ms a step [95\u00a0%]</th>"));
}

TEST_CASE("a key may be broken behind its dots and underscores, and nowhere else") {
    CHECK(breakable("batch.max_length") == "batch.\u200bmax_\u200blength");
    CHECK(breakable("ms a step [95 %]") == "ms a step [95 %]");
    CHECK(breakable(".a.") == ".a.");
    CHECK(breakable("") == "");
}
