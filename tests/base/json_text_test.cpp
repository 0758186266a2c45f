// JSON from outside: every mistake is named with file, line and column, and no text is deep enough to end the program.
// To add a case: a text and the error that it must give.
#include <string>
#include <utility>
#include <vector>

#include <switchyard/base/input_error.h>
#include <switchyard/base/json_text.h>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

std::string error_of(const std::string& text, std::size_t line = 1) {
    return base::parse_json(text, "a.json", line).error;
}

}  // namespace

TEST_CASE("what is no JSON is named with file, line and column") {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", "a.json:1:1: error: no valid JSON: "},
        {"{\"a\": 1,\n \"b\" 2}", "a.json:2:6: error: no valid JSON: "},
        {"{\"a\": nan}", "a.json:1:8: error: no valid JSON: "},
        {"{} {}", "a.json:1:4: error: no valid JSON: "},
        {"\"\xff\"", "a.json:1:2: error: no valid JSON: "},
        {"\n[1e999]", "a.json:1: error: no valid JSON: number overflow"},
    };
    for (const auto& [text, expected] : cases) {
        INFO(text);
        CHECK_THAT(error_of(text), switchyard::test::contains(expected));
    }
    CHECK_THAT(error_of("\n!", 17), switchyard::test::contains("a.json:18:1: error: "));
    CHECK(error_of("{\"a\": [1, 2.5, \"\\u00e4\"]}").empty());
}

TEST_CASE("nesting is read up to its limit and no further") {
    const auto most = base::limits::json_depth;
    CHECK(error_of(nested(most)).empty());
    CHECK_THAT(error_of(nested(most + 1)), switchyard::test::contains("a.json:1:" + std::to_string(most + 1) +
                                                                      ": error: no valid JSON: more than "));
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

TEST_CASE("a text that has to be an object and is none is an error") {
    CHECK(base::parse_object("{\"a\": 1}", "a.json").at("a") == 1);
    CHECK_THROWS_WITH(base::parse_object("[1]", "a.json"),
                      "a.json:1: error: expected a JSON object, got a list");
    CHECK_THROWS_WITH(base::parse_object("1", "a.json", 3),
                      "a.json:3: error: expected a JSON object, got a number");
}
