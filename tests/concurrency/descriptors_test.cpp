// Programs that are started without a standard input, output or error: what they say goes nowhere, and into
// no file of theirs.
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

RunOptions without(int closed) {
    RunOptions options;
    options.in_child = [closed] {
        for (int descriptor = 0; descriptor < 3; ++descriptor) {
            if ((closed >> descriptor & 1) != 0) close(descriptor);
        }
    };
    return options;
}

// Files of a run without what depends on time.
std::map<std::string, std::string> lasting(const fs::path& folder) {
    auto files = files_below(folder);
    for (auto at = files.begin(); at != files.end();) {
        const bool timed = at->first.starts_with("tensorboard/") || at->first == "metrics.jsonl" ||
                           at->first == "summary.json" || at->first == "record.json";
        at = timed ? files.erase(at) : std::next(at);
    }
    return files;
}

}  // namespace

TEST_CASE("train leaves the same files without standard descriptors as with them") {
    const TinyJob job;
    const auto run_name = job.run_folder("run");
    job.trained("run");
    const auto expected = lasting(run_name);
    const auto losses = step_losses(run_name);
    for (int closed = 1; closed < 8; ++closed) {
        INFO("closed: " << closed);
        fs::remove_all(run_name);
        const auto outcome = run(job.train("run"), without(closed));
        CHECK(outcome.code == 0);
        const bool same = lasting(run_name) == expected;
        CHECK(same);
        CHECK(step_losses(run_name) == losses);  // each line is JSON
        CHECK(json_of(fs::path(run_name) / "summary.json")["status"] == "finished");
    }
}

TEST_CASE("other programs do what they are to do without standard descriptors") {
    const auto folder = temporary_dir("descriptors");
    const auto json = (folder / "out.json").string(), made = (folder / "made.cpp").string();
    const auto torch = "'" + (source_dir() / "plugins/torch/plugin.toml").string() + "'";
    REQUIRE(run({"config", "schema", "--json", json}).code == 0);
    const auto expected = bytes_of(json);
    for (int closed = 1; closed < 8; ++closed) {
        INFO("closed: " << closed);
        fs::remove(json);
        CHECK(run({"config", "schema", "--json", json}, without(closed)).code == 0);
        const bool same = bytes_of(json) == expected;
        CHECK(same);
        CHECK(run({"plugins", "list", "--json", json}, without(closed)).code == 0);
        CHECK(json_of(json)["plugins"].size() >= 2);
        // A plugin that is probed, in a program that is begun by this one.
        RunOptions fresh = without(closed);
        fresh.environment["SWITCHYARD_CACHE"] = temporary_dir("cache").string();
        CHECK(run({"plugins", "list", "--json", json}, fresh).code == 0);
        CHECK(json_of(json)["plugins"].size() >= 2);
    }
}
