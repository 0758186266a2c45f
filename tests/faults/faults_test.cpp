// A call to the system that fails, at every place where a program makes one: it finishes with the same bits
// or says what failed, leaves nothing half-written, and what goes on afterwards ends with the same bits.
// To add a case: a command with what it reads and writes below one folder, given to `sweep`.
// SWITCHYARD_FAULTS_EVERY=1 tries every fault; without it a case takes every n-th, as it says.
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "injected.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// What can happen at a call of that kind.
std::vector<Fault> faults_at(const Call& call) {
    std::vector<Fault> faults{{"EIO", false, call.number}, {"EIO", true, call.number}};
    const bool moves_bytes = call.kind == "read" || call.kind == "write";
    if (moves_bytes) faults.push_back({"short", false, call.number});
    if (call.kind == "open" || call.kind == "read" || call.kind == "remove") return faults;
    faults.push_back({"ENOSPC", false, call.number});
    faults.push_back({"ENOSPC", true, call.number});
    return faults;
}

// Calls `attempt`, which returns what went wrong, with every n-th fault of a program that was just run once.
// Every failure is told, not the first alone.
void sweep(
    const std::string& name, const Injected& program, long every,
    const std::function<std::string(const Fault&)>& attempt,
    const std::function<bool(const Call&)>& concerns = [](const auto&) { return true; }) {
    auto calls = program.calls();
    std::erase_if(calls, [&](const auto& call) { return !concerns(call); });
    REQUIRE(!calls.empty());
    long number = 0, tried = 0;
    std::string wrong;
    for (const auto& call : calls) {
        for (const auto& fault : faults_at(call)) {
            if (number++ % every != 0) continue;
            ++tried;
            const auto text = attempt(fault);
            if (!text.empty())
                wrong += fault.text() + ", " + call.kind + " " + call.path + ": " + text + "\n";
        }
    }
    std::cout << name << ": " << tried << " of " << number << " faults at " << calls.size() << " calls\n";
    CHECK(wrong == "");
}

long stride(long otherwise) { return from_environment("SWITCHYARD_FAULTS_EVERY", otherwise); }

// Goes on with what a fault left: "" or what is wrong then. Where it left no folder of the run and all else
// as before, that is the same new run each time: it is made once, and `fresh` has by what lies there how it
// ended.
using Fresh = std::map<std::map<std::string, std::string>, std::string>;
std::string gone_on(const SavedRun& run, Fresh& fresh) {
    const auto result = [&run]() -> std::string {
        const auto resumed = switchyard::test::run(run.go_on());
        if (resumed.code != 0) return "exit code " + std::to_string(resumed.code) + ": " + resumed.err;
        return run.difference();
    };
    if (fs::exists(run.folder())) return result();
    const auto files = files_below(run.place());
    const auto known = fresh.find(files);
    return known != fresh.end() ? known->second : fresh.emplace(files, result()).first->second;
}

// A fault in a command that trains: what it leaves, and what goes on from it.
std::string interrupted(const SavedRun& run, const Injected& program, const Words& command,
                        const Fault& fault, const std::map<std::string, std::string>& before, Fresh& fresh) {
    const auto outcome = program.run(command, fault);
    std::string wrong = SavedRun::ended_badly(outcome) + run.half_written(before);
    if (outcome.code == 0)
        return wrong + run.difference({.unfinished_files = SavedRun::told_of_leftovers(outcome)});
    const auto gone = gone_on(run, fresh);
    return gone.empty() ? wrong : wrong + "going on: " + gone;
}

// What a command prints is the same, or nothing and it says why.
void sweep_printed(const std::string& name, const Injected& program, long every, const Words& command) {
    const auto whole = program.run(command);
    INFO(whole.err);
    REQUIRE(whole.code == 0);
    sweep(name, program, every, [&](const Fault& fault) -> std::string {
        const auto outcome = program.run(command, fault);
        if (outcome.code != 0 || outcome.out == whole.out) return SavedRun::ended_badly(outcome);
        return "it printed something else, and exit code 0: " + outcome.out;
    });
}

}  // namespace

TEST_CASE("a run that saves finishes or is gone on with, whichever call fails") {
    SavedRun run;
    run.make_oracle();
    const Injected program(run.place());
    REQUIRE(program.run(run.begin()).code == 0);
    REQUIRE(run.difference() == "");
    Fresh fresh;
    sweep("saving", program, stride(17), [&](const Fault& fault) {
        fs::remove_all(run.folder());
        return interrupted(run, program, run.begin(), fault, {}, fresh);
    });
}

TEST_CASE("a run that is resumed finishes or is gone on with, whichever call fails") {
    SavedRun run;
    run.make_oracle();
    run.make_half();
    const auto half = run.job().file("half");
    fs::rename(run.folder(), half);
    const auto before = files_below(half);
    const auto restore = [&] {
        fs::remove_all(run.folder());
        fs::copy(half, run.folder(), fs::copy_options::recursive);
    };
    const Injected program(run.place());
    restore();
    const auto command = run.go_on();
    REQUIRE(program.run(command).code == 0);
    REQUIRE(run.difference() == "");
    Fresh fresh;
    sweep("resuming", program, stride(17), [&](const Fault& fault) {
        restore();
        return interrupted(run, program, command, fault, before, fresh);
    });
}

TEST_CASE("rows of every format, packed ones too, are read whole or not at all") {
    const TinyJob job;
    const fs::path place = fs::path(job.file("job.toml")).parent_path();
    const auto rows = bytes_of(job.file("rows.tsv"));
    std::string csv, jsonl, tab;
    std::istringstream lines(rows);
    for (std::string line; std::getline(lines, line);) {
        const auto cut = line.find('\t');
        const auto text = line.substr(0, cut), label = line.substr(cut + 1);
        csv += text + "," + label + "\n";
        if (label != "label") jsonl += nlohmann::json{{"text", text}, {"label", label}}.dump() + "\n";
        tab += line + "\n" + (label == "label" ? "string\tdiscrete\nmeta\tclass\n" : "");
    }
    job.write("rows.csv", csv);
    job.write("rows.jsonl", jsonl);
    job.write("rows.tab", tab);
    for (const char* pack : {"gzip -k ", "bzip2 -k "})
        REQUIRE(std::system((pack + job.file("rows.csv")).c_str()) == 0);

    const Injected program(place);
    for (const std::string file :
         {"rows.tsv", "rows.csv", "rows.jsonl", "rows.tab", "rows.csv.gz", "rows.csv.bz2"}) {
        INFO(file);
        const auto name = "run-" + file;
        const Words command = job.train(name, {"train.steps=1", "data.train=[\"" + job.file(file) + "\"]"});
        const auto model = job.file(name + "/model/model.safetensors");
        REQUIRE(program.run(command).code == 0);
        const auto whole = bytes_of(model);
        const auto reads = [&](const Call& call) { return call.path == job.file(file); };
        sweep(
            file, program, stride(4),  // three faults at a read: another one at the next
            [&](const Fault& fault) -> std::string {
                fs::remove_all(job.file(name));
                const auto outcome = program.run(command, fault);
                if (outcome.code != 0) return SavedRun::ended_badly(outcome);
                return bytes_of(model) == whole ? "" : "it learnt from something else, and exit code 0";
            },
            reads);
    }
}

TEST_CASE("a model is read whole or not at all") {
    const TinyJob job;
    job.trained("run", {"train.steps=2"});
    const Injected program(fs::path(job.file("job.toml")).parent_path());
    sweep_printed("predicting", program, stride(17),
                  {"predict", job.run_folder("run"), "a lovely film", "a dull plot", "--json", "-"});
}

TEST_CASE("a configuration is read whole or not at all") {
    const TinyJob job;
    job.write("base.toml", "[run]\nseed = 4\n[train]\nsteps = 9\n");
    const auto config =
        job.write("more.toml", "include = [\"base.toml\"]\n" + bytes_of(job.file("job.toml")));
    const Injected program(fs::path(config).parent_path(), "switchyard");
    sweep_printed("configuring", program, 1, {"config", "show", config, "--origin"});
}
