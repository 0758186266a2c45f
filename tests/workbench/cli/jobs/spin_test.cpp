// runtime.spin: what LibTorch's OpenMP finds in the environment, seen by a program that a training starts.
#include <cstdlib>
#include <fstream>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// Of a training that logs to a program which copies its environment.
std::string spin_count(const TinyJob& job, const std::string& run_name, const Words& sets,
                       const RunOptions& options = {}) {
    auto all = sets;
    all.emplace_back("train.steps=1");
    all.emplace_back(R"(log.command=["sh", "-c", "echo \"<$GOMP_SPINCOUNT>\"; cat > /dev/null"])");
    const auto trained = run(job.train(run_name, all), options);
    INFO(trained.err);
    REQUIRE(trained.code == 0);
    return bytes_of(fs::path(job.run_folder(run_name)) / "log_output.txt");
}

}  // namespace

TEST_CASE("threads spin as runtime.spin says, unless the environment says it") {
    for (const char* ours : {"GOMP_SPINCOUNT", "SWITCHYARD_SPIN"}) ::unsetenv(ours);  // what all tests have
    const TinyJob job;
    CHECK(spin_count(job, "default", {}) == "<10000>\n");
    CHECK(spin_count(job, "long", {"runtime.spin=long"}) == "<300000>\n");
    CHECK(spin_count(job, "never", {"runtime.spin=never"}) == "<0>\n");
    CHECK(spin_count(job, "own", {"runtime.spin=never"}, {{{"GOMP_SPINCOUNT", "7"}}}) == "<7>\n");
    CHECK(spin_count(job, "policy", {"runtime.spin=never"}, {{{"OMP_WAIT_POLICY", "passive"}}}) == "<>\n");
    check_refused(run(job.train("wrong", {"runtime.spin=brief"})),
                  {"runtime.spin", "\"never\", \"short\", \"long\""});
}

TEST_CASE("a program that begins anew for its threads has its input and its output") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    const auto texts = job.write("texts.txt", "a good film\na bad film\n");
    const auto predict = [&](const std::string& spin) {
        return run_json({"predict", job.run_folder("run"), "--set", "runtime.spin=" + spin}, 0, {{}, texts});
    };
    const auto expected = predict("short");
    CHECK(expected.at("predictions").size() == 2);
    CHECK(predict("never") == expected);
}
