// Ranks that do not have the same program, job and data: all end at the start, and rank 0 says which rank has
// what. To add a case: a line in the table; of what need not be alike, in the last test.
#include <fstream>

#include "hand_started.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// None gives up on the other, however busy the machine is.
Words patient(const Words& sets) { return with({"distributed.timeout=300"}, sets); }

}  // namespace

TEST_CASE("ranks that differ are refused before anything is written, with the rank and the difference") {
    const TinyJob job;
    job.write("other.tsv", bytes_of(job.file("rows.tsv")) + "the film is bright\tgood\n");
    struct Case {
        Words first, second;
        Words told;
    };
    const std::vector<Case> cases{
        {{"train.eval_every=4"},
         {"train.eval_every=3"},
         {"rank 1 has another train.eval_every than rank 0: 3 instead of 4"}},
        {{},
         {"distributed.mesh.tensor=2"},
         {"rank 1 has another distributed.mesh.tensor than rank 0: 2 instead of 1"}},
        {{},
         {"attention.backend=naive"},
         {"rank 1 has another attention.backend than rank 0: ", "naive", " instead of "}},
        {{},
         {"data.train=[\"" + job.file("other.tsv") + "\"]"},
         {"rank 1 has another data.train than rank 0: ", "other.tsv with XXH3 ", " instead of ",
          "rows.tsv with XXH3 "}}};
    for (const auto& one : cases) {
        HandStartedRanks ranks(
            2, {{job.train("run", patient(one.first)), 0}, {job.train("run", patient(one.second)), 1}});
        check_refused_together(ranks, one.told, job.run_folder("run"));
    }
}

TEST_CASE("a rank that has another build of a plugin is refused, with both") {
    const TinyJob job;
    const auto plugins = temporary_dir("plugins"), built = build_dir() / "lib/switchyard/plugins";
    const auto other = plugins / "libtorch.so";
    fs::copy_file(built / "libtorch.so", other);
    std::ofstream(other, std::ios::binary | std::ios::app) << '\0';
    const auto words = job.train("run", patient({"plugins.paths=[]"}));
    HandStartedRanks ranks(2, {{words, 0, {{"SWITCHYARD_PLUGIN_PATH", built.string()}}},
                               {words, 1, {{"SWITCHYARD_PLUGIN_PATH", plugins.string()}}}});
    check_refused_together(
        ranks, {"rank 1 has another build of the plugin torch than rank 0: ", " with XXH3 ", " instead of "},
        job.run_folder("run"));
}

TEST_CASE("ranks whose hosts differ train together") {
    const TinyJob job;
    fs::copy_file(job.file("rows.tsv"), job.file("copied.tsv"));
    HandStartedRanks ranks(
        2, {{job.train("run", patient({"train.steps=2"})), 0},
            {job.train("run", patient({"train.steps=2", "runtime.spin=never", "log.end_seconds=20",
                                       "distributed.interface=lo",
                                       "data.train=[\"" + job.file("copied.tsv") + "\"]"})),
             1}});
    const auto outcomes = ranks.wait();
    INFO(outcomes[0].err << outcomes[1].err);
    CHECK(outcomes[0].code == 0);
    CHECK(outcomes[1].code == 0);
    CHECK(json_of(fs::path(job.run_folder("run")) / "summary.json")["ranks"] == 2);
}
