// Tables that do and do not fit a terminal. To add a case: a table, and all of what is printed of it.
#include <algorithm>

#include "core/workbench/bench/measure/text_table.h"

#include "longest_line.h"

#include <switchyard_test.h>

using switchyard::bench::TextTable;
using switchyard::test::longest_line;
using Align = switchyard::bench::TextTable::Align;

namespace {

TextTable rungs() {
    TextTable table({{"rung", Align::left}, {"samples/s"}, {"over the base"}, {"batch"}, {"stable"}});
    table.row({"fp32", "15.4", "-", "4", "yes"});
    table.note("published: 16.2 GB");
    table.row({"  TF32", "unavailable"});
    table.note("expected cuda");
    table.row({"  bf16", "25.7", "1.66", "8", "yes"});
    return table;
}

}  // namespace

TEST_CASE("columns are two spaces apart, or one where two do not fit") {
    CHECK(rungs().render("  ", 52) ==
          "  rung      samples/s  over the base  batch  stable\n"
          "  fp32           15.4              -      4     yes\n"
          "    published: 16.2 GB\n"
          "    TF32  unavailable\n"
          "    expected cuda\n"
          "    bf16         25.7           1.66      8     yes\n");
    const auto close = rungs().render("  ", 50);
    CHECK(close.substr(0, close.find('\n')) == "  rung     samples/s over the base batch stable");
}

TEST_CASE("columns that do not fit follow in a table of their own, after the first column once more") {
    // Nothing follows of a row that ends before, and no note is told twice.
    CHECK(rungs().render("  ", 40) ==
          "  rung      samples/s  over the base\n"
          "  fp32           15.4              -\n"
          "    published: 16.2 GB\n"
          "    TF32  unavailable\n"
          "    expected cuda\n"
          "    bf16         25.7           1.66\n"
          "\n"
          "  rung    batch  stable\n"
          "  fp32        4     yes\n"
          "    bf16      8     yes\n");
}

TEST_CASE("a column that does not fit beside the first stands below it") {
    TextTable table({{"arm", Align::left}, {"ms"}, {"precision"}});
    table.row({"a name of 20 columns", "1.5", "bfloat16"});
    CHECK(table.render("", 28) ==
          "arm                    ms\n"
          "a name of 20 columns  1.5\n"
          "\n"
          "arm\n"
          "    precision\n"
          "a name of 20 columns\n"
          "     bfloat16\n");
}

TEST_CASE("widths are those of characters as a terminal shows them") {
    TextTable table({{"label", Align::left}, {"share"}});
    table.row({"\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", "1 %"});  // six of two bytes each
    CHECK(table.render("", 13) == "label   share\n\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc    1 %\n");
}

TEST_CASE("long notes are wrapped inside the table's width") {
    TextTable table({{"backend", Align::left}, {"ms"}});
    table.row({"torch", "1.0"});
    std::string note;
    for (int i = 0; i < 60; ++i) note += "word ";
    table.note(note);
    const auto text = table.render("  ", 60);
    CHECK(longest_line(text) <= 60);
    CHECK(std::count(text.begin(), text.end(), 'w') == 60);
}

TEST_CASE("a table of one column, and one without rows") {
    TextTable table({{"name", Align::left}});
    CHECK(table.render("  ", 20) == "  name\n");
    table.row({"longer than the width is"});
    CHECK(table.render("  ", 20) == "  name\n  longer than the width is\n");
}
