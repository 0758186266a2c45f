// `switchyard fit` on the tiny job, for real.
#include "compared.h"

using namespace switchyard::test;

namespace {

nlohmann::json fitted(const TinyJob& job, const Words& more) {
    Words words{"fit", job.file("job.toml"), "--steps", "1"};
    words.insert(words.end(), more.begin(), more.end());
    const auto json = run_json(words, 0);
    CHECK(schema_faults("fit.json", json) == no_faults);
    return json;
}

const nlohmann::json& size_of(const nlohmann::json& json, std::int64_t size) {
    for (const auto& one : json["sizes"])
        if (one["batch_size"] == size) return one;
    throw std::runtime_error("size " + std::to_string(size) + " was not tried");
}

}  // namespace

TEST_CASE("the largest batch of a memory has run in it, and the next one has not") {
    const TinyJob job;
    const auto some = fitted(job, {"--memory", "1GB", "--most", "4"});
    CHECK(some["batch_size"] == 4);
    CHECK(some["at_most"] == true);
    CHECK(some["sizes"].size() == 3);
    const auto memory = size_of(some, 4)["peak_memory_bytes"].get<std::int64_t>();
    CHECK(memory > size_of(some, 1)["peak_memory_bytes"].get<std::int64_t>());

    const auto exact = fitted(job, {"--memory", std::to_string(memory)});
    const auto largest = exact["batch_size"].get<std::int64_t>();
    CHECK(largest >= 4);
    CHECK(size_of(exact, largest)["outcome"] == "fits");
    CHECK(size_of(exact, largest)["samples_per_second"].get<double>() > 0.0);
    CHECK(size_of(exact, largest + 1)["outcome"] == "too_large");
}

TEST_CASE("a memory that is none, lengths of real data, and what fails at once are told") {
    const TinyJob job;
    const auto config = job.file("job.toml");
    check_refused(run({"fit", config, "--memory", "12 apples"}), {"--memory", "expected a size"});
    check_refused(run({"fit", config, "--memory", "1GB", "--lengths", "4-8"}), {"--lengths is for random"});
    const auto none = run({"fit", config, "--memory", "1000", "--steps", "1"});
    CHECK(none.code == 1);
    CHECK_THAT(none.out, contains("not even one sample fits into 1.00 kB"));
}
