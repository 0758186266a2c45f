// Where a run may be begun, what is found wrong with that place before the first step.
// To add a case: a folder that is unfit, and the words that say so.
#include <cstdlib>
#include <fstream>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sanitized.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

Words in_folder(const TinyJob& job, const std::string& folder) {
    return {"train", job.file("job.toml"), "--run", folder};
}

RunOptions with_files_of_at_most(rlim_t bytes) {
    RunOptions options;
    options.in_child = [bytes] {
        const struct rlimit limit { bytes, bytes };
        setrlimit(RLIMIT_FSIZE, &limit);
    };
    return options;
}

}  // namespace

TEST_CASE("a run without a name is refused") {
    const TinyJob job;
    check_refused(run(in_folder(job, "")), {"error: --run: expected a value, got an empty text"});
    auto resumed = in_folder(job, "");
    resumed.emplace_back("--resume");
    check_refused(run(resumed), {"error: --run: expected a value, got an empty text"});
}

TEST_CASE("a folder that holds something else than a run is refused, and stays as it was") {
    const TinyJob job;
    const auto folder = fs::path(job.file("mine"));
    const std::pair<Words, std::string> cases[] = {
        {{"notes.txt"}, "(notes.txt)"},
        {{"config.toml"}, "(config.toml)"},  // of somebody else: no run began here
        {{"record.json", "model"}, "(model, record.json)"},
        {{"metrics.jsonl", "notes.txt"}, "(metrics.jsonl, notes.txt)"},
        {{".hidden"}, "(.hidden)"},
        {{"a", "b", "c", "d", "e"}, "(a, b, c and 2 more)"},
        {{"\033[2J"}, "(\\x1b[2J)"},
    };
    for (const auto& [names, told] : cases) {
        INFO(told);
        fs::remove_all(folder);
        fs::create_directory(folder);
        for (const auto& name : names) std::ofstream(folder / name) << "{\"mine\": 1}\n";
        const auto before = files_below(folder);
        const std::string foreign = ": error: contains files that no run wrote " + told;
        for (const auto& [option, error] : {std::pair<Words, std::string>{{}, foreign},
                                            {{"--resume", "auto"}, foreign},
                                            {{"--resume"}, ": error: there is no run to resume"}}) {
            auto words = in_folder(job, folder.string());
            words.insert(words.end(), option.begin(), option.end());
            check_refused(run(words), {folder.string() + error, "--r"});
            CHECK(files_below(folder) == before);
        }
    }
    check_refused(run(in_folder(job, job.file("job.toml"))),
                  {job.file("job.toml") + ": error: is not a folder"});
    // Nothing that is wrong with the job leaves a folder behind.
    fs::remove_all(folder);
    auto wrong = in_folder(job, folder.string());
    wrong.insert(wrong.end(), {"--set", "data.train=[\"nowhere.tsv\"]"});
    CHECK(run(wrong).code == 2);
    CHECK_FALSE(fs::exists(folder));
}

TEST_CASE("an empty folder and one where a start was cut short are begun in") {
    const TinyJob job;
    job.trained("whole");
    const fs::path whole = job.run_folder("whole"), folder = job.run_folder("run");
    for (const Words& names : {Words{}, Words{".lock"}, Words{".lock", "record.json"},
                               Words{"record.json", "config.toml", ".writing-plan.json-aB3dE6"}}) {
        fs::remove_all(folder);
        fs::create_directory(folder);
        for (const auto& name : names)
            std::ofstream(folder / name) << (name == "record.json" ? bytes_of(whole / name) : "");
        job.trained("run");
        require_same_end(whole, folder);
        CHECK(bytes_of(folder / "config.toml") == bytes_of(whole / "config.toml"));
        CHECK_FALSE(fs::exists(folder / ".writing-plan.json-aB3dE6"));
    }
}

TEST_CASE("a folder where a start was cut short after the tokenizer was written is begun in") {
    const TinyJob job;
    const auto given = (source_dir() / "tests/fixtures/tokenizers/wordpiece.json").string();
    const Words sets{"model.vocab_size=700", "data.vocabulary=\"" + given + "\""};
    job.trained("whole", sets);
    const fs::path whole = job.run_folder("whole"), folder = job.run_folder("run");
    fs::create_directories(folder);
    for (const char* name : {"record.json", "config.toml", "tokenizer"})
        fs::copy(whole / name, folder / name, fs::copy_options::recursive);
    job.trained("run", sets);
    require_same_end(whole, folder);
    // Nor does the folder of an adapter make it somebody else's.
    fs::remove_all(folder);
    fs::create_directories(folder / "adapter");
    fs::copy(whole / "record.json", folder / "record.json");
    job.trained("run", sets);
}

TEST_CASE("a folder that cannot be made or written is found before the first step") {
    const TinyJob job;
    for (const auto& folder : {job.file("rows.tsv") + "/run", std::string("/proc/run")}) {
        INFO(folder);
        check_refused(run(in_folder(job, folder)), {"cannot create the folder " + folder});
    }
    const auto closed = job.file("closed");
    fs::create_directory(closed);
    fs::permissions(closed, fs::perms::owner_read | fs::perms::owner_exec);
    RunOptions bound;
    // Root may write everywhere, unless its programs are begun without that right (capabilities(7)).
    bound.in_child = [] {
        if (::geteuid() == 0) ::prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
    };
    check_refused(run(in_folder(job, closed), bound), {"cannot write " + closed});
}

TEST_CASE("a limit on the size of files that no checkpoint fits is found before the first step") {
    if (thread_sanitized) return skip("thread sanitizer maps a file of its own, which the limit forbids");
    const TinyJob job;
    const auto outcome = run(job.train("run"), with_files_of_at_most(60'000));
    check_refused(outcome,
                  {job.run_folder("run") + ": error: there is no space for a checkpoint and the model",
                   ": File too large\n"});
    CHECK_FALSE(fs::exists(job.run_folder("run") + "/metrics.jsonl"));
    CHECK(checkpoints(job.run_folder("run")).empty());
    CHECK(leftovers(job.run_folder("run")).empty());
    job.trained("run");  // begun anew, where there is room
}

TEST_CASE("checkpoints are saved by time, and a short run has but the last") {
    const TinyJob job;
    const Words all{"train.keep_last=100"};
    job.trained("short", all);
    CHECK(checkpoints(job.run_folder("short")) == Words{"step-00000008"});
    auto timed = all;
    timed.push_back("train.checkpoint_minutes=1e-9");
    job.trained("timed", timed);
    CHECK(checkpoints(job.run_folder("timed")).size() == 8);
    timed.back() = "train.checkpoint_minutes=0";
    job.trained("never", timed);
    CHECK(checkpoints(job.run_folder("never")) == Words{"step-00000008"});
}
