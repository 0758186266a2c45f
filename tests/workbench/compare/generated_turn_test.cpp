// Turns of generation as those of other passes. To add a case: an answer, and what must come of it.
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/workbench/compare/arms/generated_turn.h"

#include <switchyard_test.h>

using namespace switchyard::compare;
using switchyard::test::contains;

namespace {

const GenerationAsked two_passes{2, 1, 3, 10};

nlohmann::ordered_json answer() {
    return {{"type", "report"},         {"step_ms", {9.0, 8.0}},
            {"prefill_ms", {5.0, 4.0}}, {"token_ms", {{2.0, 2.0}, {2.0, 2.0}}},
            {"generated", {{1, 2, 3}}}, {"prompt_tokens", 7}};
}

}  // namespace

TEST_CASE("a turn of generation counts prompts as samples, and tokens that were written") {
    const auto read = read_generated_turn(answer().dump(), two_passes);
    const auto& turn = std::get<Turn>(read);
    CHECK(turn.step_ms == std::vector<double>{9.0, 8.0});
    CHECK(turn.prefill_ms == std::vector<double>{5.0, 4.0});
    CHECK(turn.samples == 2);
    CHECK(turn.tokens == 6);
    CHECK(turn.step_tokens == std::vector<std::int64_t>{3, 3});
    CHECK(turn.prompt_tokens == 7);
    CHECK(turn.loss == std::vector<double>{0.0, 0.0});
    auto wrong = answer();
    wrong["generated"] = {{1, 2}};
    CHECK_THAT(std::get<ProtocolError>(read_generated_turn(wrong.dump(), two_passes)).text,
               contains("not a list of 3 tokens"));
    CHECK(std::get<ArmError>(read_generated_turn(R"({"type": "error", "text": "no"})", two_passes)).text ==
          "no");
}

TEST_CASE("the request for a generation ends with the number of passes") {
    CHECK(generation_request(two_passes).dump() == R"({"type":"run","workload":0,"tokens":3,"steps":2})");
}

TEST_CASE("tokens are the same up to the first of their row that is not") {
    CHECK(same_tokens({{1, 2, 3, 4}, {5, 6, 7, 8}}, {{1, 2, 0, 4}, {5, 6, 7, 8}}) == 0.75);
    CHECK(same_tokens({{1, 2}}, {{1, 2}}) == 1.0);
    CHECK(std::isnan(same_tokens({}, {{1, 2}})));
}
