// What a saved plan holds and what it refuses. To add a case: change one thing between what is saved and the
// plan.
#include "fakes.h"

#include "core/kernel/resolver/saved_plan.h"

#include <nlohmann/json.hpp>

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

std::vector<resolver::Candidate> installed() {
    auto chunked = candidate<AttentionRequest>("chunked/chunked", 5);
    chunked.manifest.options = {{"chunk_size", ValueType::integer, std::int64_t{256}, {}, ""}};
    return {candidate<AttentionRequest>("naive/naive", 10), chunked};
}

resolver::Plan plan_of(const std::string& backend,
                       const std::vector<resolver::Candidate>& candidates = installed(),
                       std::int64_t chunk_size = 256) {
    auto asked = use(attention_request(), {backend});
    asked.config.options["chunked"].set("chunk_size", chunk_size);
    return resolve(std::vector{asked}, candidates, test_host());
}

std::vector<std::string> differences(const resolver::Plan& plan, const std::string& text) {
    const auto comparison = compare_with_saved(plan, text);
    CHECK(comparison.error.empty());
    return comparison.differences;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a saved plan fits the plan that it was written from") {
    CHECK(differences(plan_of("naive"), saved_plan_text(plan_of("naive"))) == Lines{});
    const auto json = nlohmann::json::parse(saved_plan_text(plan_of("chunked")));
    const auto& slot = json.at("slots").at(0);
    CHECK(json.at("switchyard_plan") == 1);
    CHECK(slot.at("slot") == "attention");
    CHECK(slot.at("layers") == "encoder.0-5");
    CHECK(slot.at("phase") == "train");
    CHECK(slot.at("plugin") == "chunked");
    CHECK(slot.at("content_hash") == "hash-of-chunked");
    CHECK(slot.at("options").at("chunk_size") == 256);
}

TEST_CASE("a saved plan names what was chosen differently") {
    CHECK(differences(plan_of("chunked"), saved_plan_text(plan_of("naive"))) ==
          Lines{"attention, encoder.0-5, train: saved naive/naive 1.0.0, now chunked/chunked 1.0.0"});
}

TEST_CASE("a saved plan notices a library that has changed") {
    auto rebuilt = installed();
    rebuilt[0].content_hash = "another";
    CHECK(differences(plan_of("naive", rebuilt), saved_plan_text(plan_of("naive"))) ==
          Lines{"attention, encoder.0-5, train: the library of naive/naive 1.0.0 has changed: saved content "
                "hash "
                "hash-of-naive, now another"});
    rebuilt[0].version = "1.0.1";
    CHECK(differences(plan_of("naive", rebuilt), saved_plan_text(plan_of("naive"))) ==
          Lines{"attention, encoder.0-5, train: saved naive/naive 1.0.0, now naive/naive 1.0.1"});
}

TEST_CASE("a saved plan notices other options") {
    CHECK(differences(plan_of("chunked", installed(), 64), saved_plan_text(plan_of("chunked"))) ==
          Lines{"attention, encoder.0-5, train: options of chunked/chunked 1.0.0: saved "
                "{\"chunk_size\":256}, now "
                "{\"chunk_size\":64}"});
}

TEST_CASE("a saved plan notices rows that are gone or new") {
    auto moved = plan_of("naive");
    moved.rows[0].use.layers = "encoder.0-11";
    CHECK(differences(moved, saved_plan_text(plan_of("naive"))) ==
          Lines{"attention, encoder.0-5, train: saved naive/naive 1.0.0, not in the plan now",
                "attention, encoder.0-11, train: not saved, now naive/naive 1.0.0"});
}

TEST_CASE("a saved plan that nests without end is refused") {
    const auto text = "{\"a\":" + std::string(60'000, '[') + std::string(60'000, ']') + "}";
    CHECK_THAT(compare_with_saved(plan_of("naive"), text).error,
               switchyard::test::contains("not valid JSON at column 69: more than 64 lists and objects"));
}

TEST_CASE("what is not a saved plan is said to be none") {
    CHECK(compare_with_saved(plan_of("naive"), "{}")
              .error.starts_with("it is not a saved plan of `switchyard plan --save`: "));
    CHECK(compare_with_saved(plan_of("naive"), "not json").error.starts_with("it is not a saved plan of "));
    CHECK(compare_with_saved(plan_of("naive"), "{\"switchyard_plan\": 7, \"slots\": []}").error ==
          "it is a saved plan of version 7, this program reads version 1");
    CHECK(compare_with_saved(plan_of("naive"), "{\"switchyard_plan\": 1, \"slots\": [{\"slot\": 3}]}")
              .error.starts_with("it is not a saved plan of "));
    CHECK(compare_with_saved(plan_of("naive"), "{\"switchyard_plan\": 1, \"slots\": 3}")
              .error.starts_with("it is not a saved"));
}
