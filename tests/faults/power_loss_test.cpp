// The power goes away at any moment of a run: after each change that it made to its folder, with what was not
// synced there, in part or gone. Whatever is left then, what goes on from it ends with the same bits, and
// what was saved and synced is not lost.
// To add a case: a command whose changes are recorded, given to `lose_power`.
// SWITCHYARD_POWER_EVERY=1 tries every state; 17, which is the default, every 17th.
#include <iostream>
#include <optional>
#include <set>

#include "injected.h"
#include "power_loss.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// "checkpoints/step-00000002", if that change is what makes it last: its folder's sync after the rename.
class SavedSteps {
public:
    explicit SavedSteps(const fs::path& run) : checkpoints_((run / "checkpoints").string()) {}
    void apply(const Change& change) {
        const fs::path to = change.other;
        if (change.op == "rename" && to.parent_path() == checkpoints_ &&
            to.filename().string().starts_with("step-"))
            renamed_ = to.filename().string();
        if (change.op == "sync" && change.path == checkpoints_ && !renamed_.empty()) newest_ = renamed_;
    }
    const std::string& newest() const { return newest_; }  // "": none

private:
    std::string checkpoints_, renamed_, newest_;
};

// What is wrong with resuming from what the power left.
std::string gone_on(const SavedRun& run, const std::string& saved,
                    const std::map<std::string, std::string>& before) {
    std::string wrong;
    const auto old_model = before.find("model/model.safetensors");
    const auto model = run.folder() / "model/model.safetensors";
    if (fs::exists(model) && !run.is_final(model) &&
        (old_model == before.end() || old_model->second != bytes_of(model)))
        wrong += "model.safetensors is neither the old nor the new one; ";
    const auto left = checkpoints(run.folder());
    if (!saved.empty() && (left.empty() || left.back() < saved)) wrong += saved + " was saved, and is lost; ";
    if (!left.empty()) {
        const auto losses = step_losses(run.folder());
        for (std::int64_t step = 1; step <= std::stoll(left.back().substr(left.back().rfind('-') + 1));
             ++step)
            if (!losses.contains(step))
                wrong += left.back() + " is ahead of metrics.jsonl, which lacks step " +
                         std::to_string(step) + "; ";
    }

    const auto outcome = switchyard::test::run(run.go_on());
    if (outcome.code != 0) return wrong + "going on: " + outcome.err;
    const auto difference = run.difference();
    return difference.empty() ? wrong : wrong + "going on: " + difference;
}

// `start` is what the folder of the job holds at the beginning.
void lose_power(const std::string& name, const SavedRun& run, const Injected& program, const Disk& start,
                const std::map<std::string, std::string>& before) {
    const auto changes = read_changes(program.recording());
    REQUIRE(changes.size() > 50);
    const long every = from_environment("SWITCHYARD_POWER_EVERY", 17);
    Disk disk = start;
    SavedSteps saved(run.folder());
    std::set<Disk::Tree> seen;
    std::string wrong;
    long states = 0, tried = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        disk.apply(changes[i]);
        saved.apply(changes[i]);
        for (const auto kept : every_kept) {
            const auto tree = disk.after_power_loss(kept);
            if (!seen.insert(tree).second || states++ % every != 0) continue;
            ++tried;
            write_tree(run.folder(), tree);
            const auto text = gone_on(run, saved.newest(), before);
            if (text.empty()) continue;
            wrong += "after change " + std::to_string(i + 1) + ", " + changes[i].op + " " + changes[i].path +
                     ", kept " + std::to_string(static_cast<int>(kept)) + ": " + text + "\n";
        }
    }
    std::cout << name << ": " << tried << " of " << states << " states after " << changes.size()
              << " changes\n";
    CHECK(wrong == "");
}

}  // namespace

TEST_CASE("a disk keeps what was synced, and of the rest as much as it likes") {
    const fs::path top = temporary_dir("disk");
    const auto at = [&](const std::string& name) { return (top / name).string(); };
    Disk disk(top);
    for (const Change& change : {Change{"mkdir", at("a"), "", 0, ""}, Change{"create", at("a/x"), "", 0, ""},
                                 Change{"write", at("a/x"), "", 0, "1234"}})
        disk.apply(change);
    CHECK(disk.after_power_loss(Kept::synced).empty());
    CHECK(disk.after_power_loss(Kept::names) == Disk::Tree{{"a/", ""}, {"a/x", ""}});
    CHECK(disk.after_power_loss(Kept::names_and_half) == Disk::Tree{{"a/", ""}, {"a/x", "12"}});
    CHECK(disk.after_power_loss(Kept::contents).empty());

    for (const Change& change : {Change{"sync", at("a/x"), "", 0, ""}, Change{"sync", at("a"), "", 0, ""}})
        disk.apply(change);
    CHECK(disk.after_power_loss(Kept::synced).empty());  // the folder's own name is not
    disk.apply({"sync", top.string(), "", 0, ""});
    CHECK(disk.after_power_loss(Kept::synced) == Disk::Tree{{"a/", ""}, {"a/x", "1234"}});

    disk.apply({"rename", at("a/x"), at("a/y"), 0, ""});
    disk.apply({"write", at("a/y"), "", 4, "5678"});
    CHECK(disk.after_power_loss(Kept::synced) == Disk::Tree{{"a/", ""}, {"a/x", "1234"}});
    CHECK(disk.after_power_loss(Kept::names) == Disk::Tree{{"a/", ""}, {"a/y", "1234"}});
    CHECK(disk.after_power_loss(Kept::names_and_half) == Disk::Tree{{"a/", ""}, {"a/y", "123456"}});
    CHECK(disk.after_power_loss(Kept::contents) == Disk::Tree{{"a/", ""}, {"a/x", "12345678"}});
}

TEST_CASE("whatever a loss of power leaves of a run is gone on with") {
    SavedRun run;
    run.make_oracle();
    fs::create_directory(run.folder());
    const Disk start(run.folder());
    const Injected program(run.folder());
    REQUIRE(program.run(run.begin(), {}, true).code == 0);
    REQUIRE(run.difference() == "");
    lose_power("a run", run, program, start, {});
}

TEST_CASE("whatever a loss of power leaves of a resumed run, its old model too, is gone on with") {
    SavedRun run;
    run.make_oracle();
    run.make_half();
    const auto before = files_below(run.folder());
    const Disk start(run.folder());
    const Injected program(run.folder());
    REQUIRE(program.run(run.go_on(), {}, true).code == 0);
    REQUIRE(run.difference() == "");
    lose_power("a resumed run", run, program, start, before);
}
