// JSON from outside: every mistake is named with file, line and column, and no text is deep enough to end the
// program.
// To add a case: a text and the error that it must give.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

std::string error_of(const std::string& text, std::size_t line = 1) {
    return base::parse_json(text, "a.json", line).error;
}

}  // namespace

TEST_CASE("what is not JSON is named with file, line and column") {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", "a.json:1:1: error: not valid JSON: "},
        {"{\"a\": 1,\n \"b\" 2}", "a.json:2:6: error: not valid JSON: "},
        {"{\"a\": nan}", "a.json:1:8: error: not valid JSON: "},
        {"{} {}", "a.json:1:4: error: not valid JSON: "},
        {"\"\xff\"", "a.json:1:2: error: not valid JSON: "},
        {"\n[1e999]", "a.json:2:6: error: not valid JSON: number overflow"},
        {"{\"a\": 1,\n \"a\": 2}", "a.json:2:4: error: not valid JSON: 'a' appears twice"},
        {std::string("{}\0{}", 5), "a.json:1:3: error: not valid JSON: a NUL byte"},
        {std::string("\"a\0b\"", 5), "a.json:1:3: error: not valid JSON: "},
    };
    for (const auto& [text, expected] : cases) {
        INFO(text);
        CHECK_THAT(error_of(text), switchyard::test::contains(expected));
    }
    CHECK(error_of("{\"a\": {\"b\": 1}, \"b\": [{\"b\": 1}]}").empty());
    CHECK_THAT(error_of("\n!", 17), switchyard::test::contains("a.json:18:1: error: "));
    CHECK(error_of("{\"a\": [1, 2.5, \"\\u00e4\"]}").empty());
}

TEST_CASE("nesting is read up to its limit and no further") {
    const auto most = base::limits::json_depth;
    CHECK(error_of(nested(most)).empty());
    CHECK_THAT(error_of(nested(most + 1)), switchyard::test::contains("a.json:1:" + std::to_string(most + 1) +
                                                                      ": error: not valid JSON: more than "));
    CHECK_THAT(error_of(nested(1'000'000)),
               switchyard::test::contains("lists and objects inside each other"));
    // Brackets inside of texts open nothing, also behind an escaped quotation mark.
    CHECK(error_of("\"\\\"" + std::string(1000, '[') + "\"").empty());
}

TEST_CASE("a JSON text longer than its limit is not parsed") {
    const base::JsonLimits limits{10, 4};
    CHECK(base::parse_json("[1, 2, 34]", "a.json", 1, limits).error.empty());
    CHECK(base::parse_json("[1, 2, 345]", "a.json", 1, limits).error ==
          "a.json: error: the JSON has 11 bytes; at most 10 are read");
}

TEST_CASE("a JSON text of more values than its limit is not kept") {
    const base::JsonLimits limits{100, 4, 4};
    CHECK(base::parse_json("[1, 2, 3]", "a.json", 1, limits).error.empty());
    CHECK(base::parse_json("[1, 2, 3, 4]", "a.json", 1, limits).error ==
          "a.json:1:12: error: not valid JSON: more than 4 values");
}

TEST_CASE("a JSON text is read up to the limits that hold where none are given") {
    const std::string bytes = std::string(base::limits::json_bytes - 1, ' ') + "1";
    CHECK(error_of(bytes).empty());
    CHECK(error_of(bytes + " ") == "a.json: error: the JSON has 67108865 bytes; at most 67108864 are read");
    std::string list = "[";
    for (std::size_t i = 1; i < base::limits::json_values; ++i) list += "1,";
    list.back() = ']';
    CHECK(error_of(list).empty());
    list.back() = ',';
    CHECK_THAT(error_of(list + "1]"), switchyard::test::contains("not valid JSON: more than 4194304 values"));
}

TEST_CASE(
    "what stands in a file of many names is read in order, and each name is compared with all before it") {
    std::string text = "{";
    const std::size_t many = 200'000;  // each looked for among the others, one by one, would take minutes
    for (std::size_t i = 0; i < many; ++i) text += "\"n" + std::to_string(i) + "\": 0, ";
    const auto parsed = base::parse_json(text + "\"last\": 1}");
    CHECK(parsed.error.empty());
    CHECK(parsed.value.size() == many + 1);
    CHECK(parsed.value.begin().key() == "n0");
    CHECK_THAT(error_of(text + "\"n7\": 1}"), switchyard::test::contains("'n7' appears twice"));
}

TEST_CASE("a message quotes no more of a JSON text than its limit") {
    const std::string many(100'000, 'x');
    for (const auto& text :
         {"\"" + many, many, "[" + std::string(100'000, '1') + "e" + std::string(1000, '9') + "]",
          "{\"" + many + "\": 1, \"" + many + "\": 2}", "\"" + std::string(100'000, '\xff') + "\""}) {
        const auto error = error_of(text);
        INFO(error);
        CHECK_FALSE(error.empty());
        CHECK(error.size() < 2 * base::limits::quoted_characters);
    }
    // Control characters are written out, and nothing is cut inside of a character.
    CHECK_THAT(error_of("\"\x1b[2J\""), !switchyard::test::contains("\x1b"));
    std::string umlauts = "\"";
    for (int i = 0; i < 1000; ++i) umlauts += "\xc3\xa4";
    CHECK_THAT(error_of(umlauts), !switchyard::test::contains("\\x"));
}

TEST_CASE("a text without a file says where in the text it is wrong") {
    CHECK_THAT(base::parse_json("{\"a\": nan}").fault,
               switchyard::test::contains("not valid JSON at column 8: "));
    CHECK_THAT(base::parse_json("{\n\"a\": nan}").fault,
               switchyard::test::contains("not valid JSON at line 2, column 7: "));
    CHECK(base::parse_json("1").fault.empty());
}

TEST_CASE("a key that has to be there is missed by name, and one of another type is told") {
    const auto json = base::parse_json(
                          "{\"text\": \"a\", \"count\": 3, \"flag\": true, \"list\": [1], \"real\": 1e300,"
                          " \"large\": 9223372036854775808, \"most\": 9223372036854775807}")
                          .value;
    CHECK(base::needed_text(json, "text") == "a");
    CHECK(base::needed_integer(json, "count") == 3);
    CHECK(base::needed_integer(json, "most") == std::numeric_limits<std::int64_t>::max());
    CHECK(base::needed_number(json, "real") == 1e300);
    CHECK(base::needed_flag(json, "flag"));
    CHECK(base::needed_list(json, "list").size() == 1);
    CHECK_FALSE(base::integer_of(json.at("large")));
    CHECK(base::integer_of(json.at("most")) == std::numeric_limits<std::int64_t>::max());
    CHECK_FALSE(base::integer_of(json.at("real")));
    CHECK_THROWS_WITH(base::needed(json, "none"), "\"none\" is missing");
    CHECK_THROWS_WITH(base::needed(json.at("list"), "none"), "an object is expected, there is a list");
    CHECK_THROWS_WITH(base::needed_text(json, "count"), "\"count\" is the number 3; expected a text");
    CHECK_THROWS_WITH(base::needed_integer(json, "real"),
                      "\"real\" is the number 1e+300; expected a whole number of 64 bits");
    CHECK_THROWS_WITH(base::needed_integer(json, "large"),
                      "\"large\" is the number 9223372036854775808; expected a whole number of 64 bits");
    CHECK_THROWS_WITH(base::needed_number(json, "text"), "\"text\" is a text; expected a number");
    CHECK_THROWS_WITH(base::needed_flag(json, "list"), "\"list\" is a list; expected true or false");
    CHECK_THROWS_WITH(base::needed_list(json, "flag"), "\"flag\" is a boolean; expected a list");
}

TEST_CASE("a text that has to be an object and is none is an error") {
    CHECK(base::parse_object("{\"a\": 1}", "a.json").at("a") == 1);
    CHECK_THROWS_WITH(base::parse_object("[1]", "a.json"),
                      "a.json:1: error: expected a JSON object, got a list");
    CHECK_THROWS_WITH(base::parse_object("1", "a.json", 3),
                      "a.json:3: error: expected a JSON object, got the number 1");
}
