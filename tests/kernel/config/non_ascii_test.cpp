// Text beyond ASCII: anywhere in strings and comments it comes through as it is, elsewhere it is told. The
// parser's own test of such characters is undefined (guard_text.h), so this runs in the asan and fuzz presets
// too. To add a case: a text, and its value or its error.
#include <string>

#include "core/kernel/config/document.h"
#include "core/kernel/config/guard_text.h"

#include "config_test.h"

#include <switchyard_test.h>

using switchyard::test::errors;

namespace {

// The string that `a = VALUE` is.
std::string value_of(const std::string& value) {
    const std::string text = "a = " + value + "\nb = 1\n";
    const auto problems = switchyard::config::guard_text(text, "a.toml");
    if (!problems.empty()) return switchyard::config::render(problems);
    const auto document = switchyard::config::parse_document(text, "a.toml");
    if (!document.problems.empty()) return switchyard::config::render(document.problems);
    return std::get<std::string>(document.root.children.at(0).scalar);
}

}  // namespace

TEST_CASE("strings hold any character of any script") {
    for (const std::string text :
         {"größe", "\u00a0", "\u00a1", "\u0416\u0499", "\u1680", "\u2028", "\u2c5e", "\u3000", "\u3057",
          "\ufb26", "\ufeff", "\uff1a", "\U0001f682", "\u202e"}) {
        CAPTURE(text);
        CHECK(value_of('"' + text + '"') == text);
        CHECK(value_of('\'' + text + '\'') == text);
        CHECK(value_of("\"\"\"" + text + "\"\"\"") == text);
        CHECK(value_of("\"\"\"\n" + text + "\n" + text + "\"\"\"") == text + "\n" + text);
        CHECK(value_of("'''\n\\" + text + "'''") == "\\" + text);
        // After a backslash at a line's end TOML drops spaces, tabs and line ends, and nothing else.
        CHECK(value_of("\"\"\"x\\\n" + text + "y\"\"\"") == "x" + text + "y");
        CHECK(value_of("\"\"\"x\\  \t\r\n \n\t " + text + " y\\\n" + text + "\"\"\"") ==
              "x" + text + " y" + text);
    }
}

TEST_CASE("keys in quotes and comments hold any character") {
    CHECK(errors("# größe \\ \u00e9\n#\u00e9\nattention.options.x = {\"größe\" = 1}  # \u3000").empty());
}

TEST_CASE("a character beyond ASCII outside of strings and comments is told with its place") {
    const auto told = [](const std::string& place, const std::string& character) {
        return "run.toml:" + place + ": error: '" + character +
               "' stands outside of strings and comments; expected ASCII there, or quotes around it\n";
    };
    CHECK(errors("run.seed = 1\ngröße = 1") == told("2:3", "ö"));
    CHECK(errors("\u00e9") == told("1:1", "é"));
    CHECK(errors("run.seed = 1\u00a0") == told("1:13", "\u00a0"));
    CHECK(errors("run.seed = 1\u00e9") == told("1:13", "é"));
    CHECK(errors("run.seed = [\n1, \u3000 2]") == told("2:4", "\u3000"));
    CHECK(errors("[mödel]") == told("1:3", "ö"));
    CHECK(errors("a = 1979-05-27\u0416") == told("1:15", "\u0416"));
    CHECK(errors("a\ufeff = 1") == told("1:2", "\ufeff"));
    CHECK(errors("a = \"x\u00e9\"\u202e") == told("1:9", "\\u202e"));
}

TEST_CASE("a quote within a number opens no string") {
    const auto told = [](const std::string& place) {
        return "run.toml:" + place +
               ": error: 'é' stands outside of strings and comments; expected ASCII there, or quotes around "
               "it\n";
    };
    // The parser reads on in these, and would ask whether é is white space.
    CHECK(errors("a = 1\"é") == told("1:7"));
    CHECK(errors("a = 1'é'") == told("1:7"));
    CHECK(errors("a = 1.\"é\"") == told("1:8"));
    CHECK(errors("a = 1979-05-27 \"é") == told("1:17"));
    CHECK(errors("a = [1, 2\"é\"]") == told("1:11"));
    CHECK(errors("a = {b = 1\"é\"}") == told("1:12"));
    CHECK(errors("a = \"x\"\"é\"") == told("1:9"));
    CHECK(errors("a\"é\" = 1") == told("1:3"));
}

TEST_CASE("quotes open strings wherever TOML has them") {
    for (const std::string text :
         {"\"é\" = 1", "x.\"é\" = 1", "x . 'é' = 1", "[\"é\"]", "[x.\"é\".'é']", "[[ \"é\" ]]",
          "x = {\"é\" = 1, \"è\".y = 2, z.\"é\" = {'é' = 3}, w = [\"é\", 'é'], v.'é' = 1}",
          "x = [ # é\n\"é\",\n \"\"\"é\"\"\" ,'''é''', [\"é\"], {\"é\" = \"é\"}, \"é\"]\r\n\t\"é\" = 2"}) {
        CAPTURE(text);
        CHECK_FALSE(switchyard::config::stray_character(text, "a.toml").has_value());
    }
}

TEST_CASE("a character beyond ASCII after a backslash is told with its place") {
    const auto told = [](const std::string& place, const std::string& character) {
        return "run.toml:" + place + ": error: '" + character +
               "' follows a backslash; expected an escape such as \\n, or \\\\ for a backslash\n";
    };
    CHECK(errors("a = \"\"\"x\\é\"\"\"") == told("1:10", "é"));
    CHECK(errors("a = \"\"\"x\\ \t\u00a0\n\"\"\"") == told("1:12", "\u00a0"));
}

TEST_CASE("an override that is mended by quotes is looked at again") {
    CHECK(errors("", {"attention.backend=[\"a, \u00e9, b\", c]"}).starts_with("--set #1"));
}

TEST_CASE("other mistakes are told beside a character beyond ASCII") {
    CHECK(errors("run.device = \"ünï\"\nrun = {sëed = 1}\nrun.seed = -\n") ==
          "run.toml:1:14: error: run.device: got the string \"ünï\"; expected one of \"cpu\", \"cuda\"\n"
          "run.toml:2:9: error: 'ë' stands outside of strings and comments; expected ASCII there, or quotes "
          "around it\n"
          "run.toml:3:12: error: cannot parse value: could not determine value type\n");
    CHECK(errors("run.seed = [\n1, \u00e9\n") ==
          "run.toml:2:4: error: 'é' stands outside of strings and comments; expected ASCII there, or quotes "
          "around it\n");
}

TEST_CASE("a line that is left out after a mistake lets no character out of its string") {
    // Without the header, what was a string is code, and what was code is a string.
    CHECK_FALSE(errors("[a \"\"\"\n\u00e9 \\\n\u00e9\n\"\"\"]\nb = \"\"\"\n# \u00e9\n\"\"\"").empty());
}
