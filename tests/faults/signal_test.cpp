// A command that is sent a signal right after each call that makes a file or a folder and before each that
// renames one: what was there stays as it was, or is what the command makes, whole; nothing lies beside it.
#include <csignal>
#include <fstream>
#include <iostream>

#include "injected.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

using Files = std::map<std::string, std::string>;

// A folder that holds what a command writes and nothing else.
class OutputFolder {
public:
    explicit OutputFolder(const TinyJob& job) : path_(job.file("made")) {}

    std::string operator/(const std::string& name) const { return (path_ / name).string(); }

    // `command` makes what is below; `before` is there when it begins.
    void check(const std::string& name, const Words& command, const Files& before) const {
        const Injected program(path_);
        restore(before);
        const auto whole = program.run(command);
        INFO(name << "\n" << whole.err);
        REQUIRE(whole.code == 0);
        const auto made = files_below(path_);
        REQUIRE(made != before);
        auto calls = program.calls();
        std::erase_if(calls, [](const Call& call) {
            return call.kind != "create" && call.kind != "mkdir" && call.kind != "rename";
        });
        REQUIRE(!calls.empty());
        long ended = 0;
        for (const auto& call : calls) {
            restore(before);
            const auto outcome = program.run(command, {"terminate", false, call.number});
            INFO("SIGTERM at call " << call.number << ", " << call.kind << " " << call.path << "\n"
                                    << outcome.err);
            CHECK((outcome.code == 128 + SIGTERM || outcome.code == 0));
            const auto left = files_below(path_);
            CHECK((left == made || (left == before && outcome.code != 0)));
            ended += outcome.code == 0 ? 0 : 1;
        }
        std::cout << name << ": SIGTERM at " << calls.size() << " calls ended it " << ended << " times\n";
    }

private:
    void restore(const Files& files) const {
        fs::remove_all(path_);
        fs::create_directories(path_);
        for (const auto& [name, bytes] : files) std::ofstream(path_ / name, std::ios::binary) << bytes;
    }

    fs::path path_;
};

}  // namespace

TEST_CASE("a signal while results are written leaves those of before, or all of them") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    const auto run = job.run_folder("run"), texts = job.write("texts.txt", "a lovely film\na dull plot\n");
    const OutputFolder folder(job);
    const auto results = folder / "results.jsonl";
    folder.check("predict", {"predict", run, "a lovely film", "--jsonl", results},
                 {{"results.jsonl", "old\n"}});
    folder.check("predict --from", {"predict", run, "--from", texts, "--jsonl", results},
                 {{"results.jsonl", "old\n"}});
    folder.check("embed --from", {"embed", run, "--from", texts, "--out", folder / "all.npy"}, {});
}

TEST_CASE("a signal while the folder of a model is made leaves all of it, or nothing") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    job.trained("adapted",
                {"train.steps=1", "lora.rank=2", "train.weights=" + job.run_folder("run") + "/model"});
    const OutputFolder folder(job);
    folder.check("merge", {"merge", job.run_folder("adapted"), folder / "merged"}, {});
    folder.check("quantize",
                 {"quantize", job.run_folder("run"), "--method", "dynamic", "--out", folder / "quantized"},
                 {});
}
