// The search for the largest batch, on memories that are made up: lines, steps, noise, processes that die.
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "core/workbench/compare/fit/fit_report.h"
#include "json_schema.h"

#include <switchyard_test.h>

using namespace switchyard::compare;
using switchyard::test::contains;

namespace {

// What a size takes, in bytes, and how often it was asked.
struct Memory {
    std::function<std::int64_t(std::int64_t)> of;
    std::int64_t dies_above = std::numeric_limits<std::int64_t>::max();
    std::set<std::int64_t> tried = {};

    FitResult search(std::int64_t memory, std::int64_t most = 1 << 20) {
        FitSettings settings;
        settings.memory_bytes = memory;
        settings.most = most;
        settings.try_size = [this](std::int64_t size) {
            CHECK(tried.insert(size).second);  // never twice
            FitSample sample;
            if (size > dies_above) {
                sample.outcome = FitOutcome::too_large;
                sample.reason = "was killed by signal 9";
                return sample;
            }
            sample.outcome = FitOutcome::fits;
            sample.peak_bytes = of(size);
            sample.samples_per_second = 10.0 * std::sqrt(static_cast<double>(size));
            return sample;
        };
        return find_largest_batch(settings);
    }
};

std::int64_t line(std::int64_t size) { return 1'000'000 + 12'345 * size; }

}  // namespace

TEST_CASE("the largest batch of a memory that grows by samples is found in few tries") {
    for (const std::int64_t memory : {1'012'345, 1'050'000, 2'000'000, 7'777'777, 100'000'000}) {
        Memory made{line};
        const auto result = made.search(memory);
        INFO(memory);
        CHECK(result.largest == (memory - 1'000'000) / 12'345);
        CHECK_FALSE(result.at_most);
        CHECK(made.tried.size() <= 2 + static_cast<std::size_t>(std::log2(result.largest + 1)) + 3);
        // None that takes more than twice what there is: it would be a danger to the machine.
        CHECK(line(*made.tried.rbegin()) <= 2 * memory);
    }
}

TEST_CASE("the largest batch is found whatever the memory's form, as long as it grows") {
    const auto stairs = [](std::int64_t size) { return (size + 15) / 16 * 16 * 1000; };
    const auto bent = [](std::int64_t size) { return size < 100 ? 1000 * size : 1000 * size + size * size; };
    for (const auto& of : {std::function<std::int64_t(std::int64_t)>(stairs), {bent}}) {
        for (std::int64_t memory = 5'000; memory < 3'000'000; memory = memory * 7 / 3) {
            Memory made{of};
            const auto result = made.search(memory);
            std::int64_t right = 0;
            while (of(right + 1) <= memory) ++right;
            INFO(memory);
            CHECK(result.largest == right);
        }
    }
}

TEST_CASE("a process that is killed is a size too large, and the search goes on below it") {
    Memory made{line, 300};
    const auto result = made.search(100'000'000);
    CHECK(result.largest == 300);
    CHECK(*made.tried.rbegin() == 512);  // no larger one is tried then
    CHECK_THAT(fit_text(result, 100'000'000),
               contains("batch.size = 300 is the largest that fits into 100 MB") &&
                   contains("was killed by signal 9"));
}

TEST_CASE("nothing that fits, everything that fits, and a stop are told") {
    Memory large{line};
    const auto none = large.search(1'000'000);
    CHECK(none.largest == 0);
    CHECK_THAT(fit_text(none, 1'000'000), contains("not even one sample fits into 1.00 MB"));
    Memory small{line};
    const auto all = small.search(1'000'000'000'000, 64);
    CHECK(all.largest == 64);
    CHECK(all.at_most);
    CHECK_THAT(fit_text(all, 1'000'000'000'000), contains("larger ones were not tried (--most)"));

    FitSettings settings;
    settings.memory_bytes = 100'000'000;
    int tries = 0;
    settings.try_size = [&](std::int64_t size) {
        ++tries;
        return FitSample{size, FitOutcome::fits, line(size), 1.0, ""};
    };
    settings.stop = [&] { return tries == 3; };
    const auto stopped = find_largest_batch(settings);
    CHECK(stopped.stopped);
    CHECK(stopped.largest == 4);
    CHECK_THAT(fit_text(stopped, 100'000'000), contains("stopped before larger ones were tried"));
}

TEST_CASE("a size that was stopped before it was measured is not told to fit") {
    bool interrupted = false;
    FitSettings settings;
    settings.memory_bytes = 100'000'000;
    settings.stop = [&] { return interrupted; };
    std::int64_t last = 1;
    settings.try_size = [&](std::int64_t size) {
        interrupted = size == last;
        return FitSample{size, FitOutcome::fits, interrupted ? -1 : line(size), 1.0, ""};
    };
    const auto nothing = find_largest_batch(settings);
    CHECK(nothing.stopped);
    CHECK(nothing.largest == 0);
    CHECK(nothing.samples.empty());
    CHECK_THAT(fit_text(nothing, 100'000'000), contains("stopped before anything was known"));
    const auto json = fit_json(nothing, 100'000'000);
    CHECK(json["batch_size"].is_null());
    CHECK(json["stopped"] == true);

    interrupted = false;
    last = 4;
    const auto some = find_largest_batch(settings);
    CHECK(some.largest == 2);
    CHECK(some.samples.size() == 2);
}

TEST_CASE("a size that failed for another reason than memory is not told to be too large") {
    FitSettings settings;
    settings.memory_bytes = 100'000'000;
    settings.try_size = [](std::int64_t size) {
        if (size <= 5) return FitSample{size, FitOutcome::fits, line(size), 1.0, ""};
        return FitSample{size, FitOutcome::failed, -1, 0.0, "did not answer within 1 s\nits last words"};
    };
    const auto result = find_largest_batch(settings);
    CHECK(result.largest == 5);
    REQUIRE(result.failed_above() != nullptr);
    CHECK(result.failed_above()->size == 6);
    CHECK_THAT(fit_text(result, 100'000'000),
               contains("batch.size = 5 fits into 100 MB; 6 failed: did not answer within 1 s\n"));
    auto json = fit_json(result, 100'000'000);
    CHECK(json["failed_above"] == 6);
    json["command"] = "switchyard fit x.toml";
    CHECK(switchyard::test::schema_faults("fit.json", nlohmann::json::parse(json.dump())) ==
          switchyard::test::no_faults);

    // Larger ones that failed are no limit where memory is.
    settings.memory_bytes = line(4);
    const auto limited = find_largest_batch(settings);
    CHECK(limited.largest == 4);
    CHECK(limited.failed_above() == nullptr);
    CHECK_THAT(fit_text(limited, line(4)), contains("batch.size = 4 is the largest that fits"));
    CHECK(fit_json(limited, line(4))["failed_above"].is_null());
}

TEST_CASE("the result has a JSON form") {
    Memory made{line, 300};
    auto json = fit_json(made.search(100'000'000), 100'000'000);
    json["command"] = "switchyard fit x.toml";
    CHECK(switchyard::test::schema_faults("fit.json", nlohmann::json::parse(json.dump())) ==
          switchyard::test::no_faults);
    CHECK(json["batch_size"] == 300);
    CHECK(json["sizes"].back()["peak_memory_bytes"].is_null());
}
