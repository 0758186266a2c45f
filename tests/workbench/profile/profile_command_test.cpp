// `switchyard profile` on the tiny job, for real; nothing here depends on how fast the machine is.
#include "core/kernel/base/json_text.h"

#include "json_schema.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

const Words few{"--wait", "0", "--warmup", "1", "--active", "2", "--repeat", "1"};

Words words(const TinyJob& job, const Words& more) {
    Words all{"profile", job.file("job.toml")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

Outcome profiled(const TinyJob& job, Words more) {
    more.insert(more.end(), few.begin(), few.end());
    return run(words(job, more));
}

void check_told(const Outcome& outcome, const std::string& text) {
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, contains(text));
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
}

}  // namespace

TEST_CASE("a profile tells slots, layers, operators and memory, and writes its files") {
    const TinyJob job;
    const auto outcome = profiled(
        job, {"--json", job.file("p.json"), "--trace", job.file("t.json"), "--html", job.file("p.html"),
              "--set", "batch.tokens=64", "--set", "data_loader.backend=batching/fixed"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    for (const char* text :
         {"explained:", "linear", "attention", "encoder.0", "memory at the peak", "roofs:"})
        CHECK_THAT(outcome.out, contains(text));

    const auto json = json_of(job.file("p.json"));
    const JsonSchema schema(source_dir() / "docs/schema/profile.json");
    CHECK(schema.faults(json) == std::vector<std::string>());
    CHECK(json["steps"] == 2);
    CHECK(json["schedule"]["active"] == 2);
    CHECK(json["overhead"]["pairs"] == 2);
    CHECK(json["explained"].get<double>() > 0.0);
    // Tokens limit the batch, so that no larger one is advised.
    for (const auto& one : json.at("advice"))
        CHECK_THAT(one.at("change").get<std::string>(), !contains("batch.size"));

    const auto trace = base::parse_object(bytes_of(job.file("t.json")), "t.json");
    CHECK(trace.at("traceEvents").size() > 100);
    CHECK_THAT(bytes_of(job.file("p.html")), contains("Roofline") && contains("Live memory over a step"));
}

TEST_CASE("bad input of a profile is one clear error") {
    const TinyJob job;
    check_told(run(words(job, {"--active", "0"})), "--active: expected a whole number from 1");
    check_told(run(words(job, {"--repeat", "0"})), "--repeat: expected a whole number from 1");
    check_told(run(words(job, {"--wait", "-1"})), "--wait: expected a whole number from 0");
    check_told(run(words(job, {"--warmup", "x"})), "--warmup: expected a whole number from 0");
    check_told(run(words(job, {"--json", job.file("none/p.json")})), "none");
    check_told(run(words(job, {"--html", job.file("none/p.html")})), "--html");
    check_told(run(words(job, {"--trace", job.file("")})), "--trace");
    check_told(run(words(job, {"--lengths", "4-8"})), "--lengths is for random samples");
    CHECK(run(words(job, {"--actve", "3"})).code == 2);
    CHECK(run({"profile"}).code == 2);
    CHECK(run({"profile", job.file("none.toml")}).code == 2);
}
