// batch.layout = "auto": what it becomes, what a run keeps of it, and what is said. Which layout is faster
// depends on the machine; that one was measured, and that the run is then the same as one that names it, does
// not.
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

const Words automatic{"batch.layout=auto", "train.steps=4", "runtime.keep_times=always"};

// What the plan of a run says of its layout.
std::string said(const TinyJob& job, const std::string& run) {
    const auto plan = json_of(fs::path(job.run_folder(run)) / "plan.json");
    for (const auto& slot : plan.at("slots")) {
        for (const auto& note : slot.at("notes")) {
            const auto text = note.get<std::string>();
            if (text.starts_with("batch.layout: ")) return text.substr(14);
        }
    }
    return "";
}

Outcome plan(const TinyJob& job, const Words& sets) {
    Words words{"plan", job.file("job.toml")};
    for (const auto& set : sets) words.insert(words.end(), {"--set", set});
    return run(words);
}

}  // namespace

TEST_CASE("batch.layout = auto is measured once, and the run is that of the layout it became") {
    const TinyJob job;
    const auto before = plan(job, automatic);
    INFO(before.err);
    CHECK_THAT(before.out, contains("batch.layout: padded (auto: not measured on this host yet;"));

    job.trained("auto", automatic);
    const auto text = said(job, "auto");
    INFO(text);
    CHECK_THAT(text, contains("(auto: "));
    CHECK_THAT(text, contains("measured with samples of this job on this host"));
    const auto layout = text.substr(0, text.find(' '));
    CHECK((layout == "padded" || layout == "packed"));
    CHECK_THAT(bytes_of(fs::path(job.run_folder("auto")) / "config.toml"),
               contains("layout = \"" + layout + "\""));

    job.trained("named", {"batch.layout=" + layout, "train.steps=4", "runtime.keep_times=always"});
    require_same_end(job.run_folder("named"), job.run_folder("auto"));

    job.trained("again", automatic);
    CHECK(said(job, "again") == text);
    // Plans wrap their lines.
    CHECK_THAT(plan(job, automatic).out, contains("batch.layout: " + layout + " (auto: "));
    require_same_end(job.run_folder("again"), job.run_folder("auto"));
}

TEST_CASE("a run whose layout was measured keeps it when it is resumed") {
    const TinyJob job;
    job.trained("run", {"batch.layout=packed", "train.steps=2"});
    job.trained("run", automatic, {"--resume"});
    CHECK(said(job, "run") ==
          "packed (auto: as in " + (fs::path(job.run_folder("run")) / "plan.json").string() + ")");
}

TEST_CASE("batch.layout = auto says why it did not measure") {
    const TinyJob job;
    CHECK_THAT(plan(job, {"batch.layout=auto", "run.deterministic=true"}).out,
               contains("batch.layout: padded (auto: not measured, because of run.deterministic)"));
    CHECK_THAT(plan(job, {"batch.layout=auto", "data_loader.backend=batching/packed", "batch.tokens=64"}).out,
               contains("batch.layout: packed (auto: the padded layout is not served)"));
    CHECK_THAT(plan(job, {"batch.layout=auto", "data_loader.backend=batching/padded"}).out,
               contains("batch.layout: padded (auto: the packed layout is not served)"));
}
