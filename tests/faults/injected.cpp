#include "injected.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <switchyard_test.h>

namespace switchyard::test {
namespace {

// Small, so that it makes few calls: a layer, and no more steps than it takes to remove an old checkpoint.
const Words saving{"model.layers=1",
                   "train.steps=4",
                   "train.grad_accumulation_steps=1",
                   "train.checkpoint_every=1",
                   "train.eval_every=2",
                   "optimizer.algorithm=sgd",
                   "train.keep_best=eval.accuracy"};

using Files = std::map<std::string, std::string>;

// What an interrupted run must end with, byte for byte: no times stand in it.
bool is_kept(const std::string& file) {
    const bool of_model = file.starts_with("model/") && file != "model/README.md";  // which has the command
    return file.starts_with("checkpoints/") || of_model || file == "vocab.txt";
}

// What grows line by line, and may end in the middle of one; and the lock, which is written in place.
bool may_be_in_part(const std::string& file) {
    return file == ".lock" || file == "metrics.jsonl" || file == "changes.jsonl" ||
           file.starts_with("tensorboard/");
}

bool is_unfinished(const std::string& file) {
    return file.starts_with(".writing-") || file.find("/.writing-") != std::string::npos;
}

// A checkpoint's state without what it says of the job, which is another for the oracle that keeps all of
// them, and checksums without that of the state.
std::string comparable(const std::string& file, const std::string& bytes) {
    if (file.ends_with("/state.json") && nlohmann::json::accept(bytes)) {
        auto state = nlohmann::json::parse(bytes);
        state.erase("facts");
        return state.dump();
    }
    if (!file.ends_with("/checksums.xxh128")) return bytes;
    std::istringstream lines(bytes);
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
        if (!line.ends_with("state.json")) kept += line + "\n";
    }
    return kept;
}

Files kept_below(const fs::path& folder) {
    Files files;
    for (const auto& [name, bytes] : files_below(folder)) {
        if (is_kept(name)) files[name] = comparable(name, bytes);
    }
    return files;
}

}  // namespace

Injected::Injected(fs::path below, std::string program)
    : below_(std::move(below)), own_(temporary_dir("injected")), program_(std::move(program)) {}

Outcome Injected::run(const Words& words, const Fault& fault, bool recorded) const {
    RunOptions options;
    auto& variables = options.environment;
    variables["LD_PRELOAD"] = (build_dir() / "tests/lib/libswitchyard_test_injector.so").string();
    variables["SWITCHYARD_EXIT"] = "quick";  // as it ends without the injector
    variables["SWITCHYARD_FAULTS_PROGRAM"] = program_;
    variables["SWITCHYARD_FAULTS_BELOW"] = below_.string();
    variables["SWITCHYARD_FAULTS_LOG"] = (own_ / "calls").string();
    if (!fault.name.empty()) {
        variables["SWITCHYARD_FAULTS_AT"] = std::to_string(fault.at);
        variables["SWITCHYARD_FAULTS_FAULT"] = fault.name;
        if (fault.lasting) variables["SWITCHYARD_FAULTS_LASTING"] = "1";
    }
    if (recorded) variables["SWITCHYARD_FAULTS_RECORD"] = recording().string();
    // The sanitizer wants to be the first library of a program, which is the injector.
    const char* const asan = std::getenv("ASAN_OPTIONS");
    variables["ASAN_OPTIONS"] = std::string(asan == nullptr ? "" : asan) + ":verify_asan_link_order=0";
    return test::run(words, options);
}

std::vector<Call> Injected::calls() const {
    std::vector<Call> calls;
    std::istringstream log(bytes_of(own_ / "calls"));
    for (Call call; log >> call.number >> call.kind && std::getline(log, call.path);) {
        call.path.erase(0, 1);
        calls.push_back(call);
    }
    return calls;
}

Words SavedRun::with_sets(const Words& more) const { return job_.train("run", saving, more); }
Words SavedRun::begin() const { return with_sets({}); }

Words SavedRun::go_on() const { return with_sets({"--resume", "auto"}); }

void SavedRun::make_oracle() {
    job_.trained("oracle", saving);
    auto all = saving;
    all.push_back("train.keep_last=100");
    job_.trained("all", all);
    const fs::path oracle = job_.run_folder("oracle");
    final_files_ = kept_below(oracle);
    all_files_ = kept_below(job_.run_folder("all"));
    losses_ = step_losses(oracle);
    evaluations_ = eval_losses(oracle);
    REQUIRE(final_files_.contains("model/model.safetensors"));
    REQUIRE(final_files_.contains("checkpoints/step-00000004/state.json"));
    REQUIRE(all_files_.contains("checkpoints/step-00000001/state.json"));
    REQUIRE(losses_.size() == 4);
}

void SavedRun::make_half() const {
    auto half = saving;
    half.push_back("train.steps=2");
    fs::remove_all(folder());
    job_.trained("run", half);
}

bool SavedRun::is_final(const fs::path& file) const {
    const auto found = final_files_.find(file.lexically_relative(folder()).string());
    return found != final_files_.end() && found->second == bytes_of(file);
}

std::string SavedRun::difference(Allowed allowed) const {
    std::string text;
    const Files files = kept_below(folder());
    for (const auto& [name, bytes] : final_files_) {
        const auto found = files.find(name);
        if (found == files.end())
            text += name + " is not there; ";
        else if (found->second != bytes)
            text += name + " has other bytes; ";
    }
    // A checkpoint that was to be removed may still be there, whole: nothing was saved since.
    for (const auto& [name, bytes] : files) {
        if (is_unfinished(name)) continue;
        const auto older = all_files_.find(name);
        if (!final_files_.contains(name) && (older == all_files_.end() || older->second != bytes))
            text += name + " should not be there; ";
    }
    for (const auto& [name, bytes] : files_below(folder())) {
        if (is_unfinished(name) && !allowed.unfinished_files) text += name + " was left; ";
    }
    if (step_losses(folder()) != losses_) text += "metrics.jsonl has other losses; ";
    if (eval_losses(folder()) != evaluations_) text += "metrics.jsonl has other evaluations; ";
    return text;
}

std::string SavedRun::half_written(const Files& before) const {
    if (!fs::exists(folder())) return "";
    std::string text;
    for (const auto& [name, bytes] : files_below(folder())) {
        if (may_be_in_part(name) || is_unfinished(name)) continue;
        const auto old = before.find(name);
        if (old != before.end() && old->second == bytes) continue;
        const bool json = name.ends_with(".json");
        if (is_kept(name)) {
            const auto whole = all_files_.find(name);
            if (whole == all_files_.end() || whole->second != comparable(name, bytes))
                text += name + " is there in part; ";
        } else if (json ? !nlohmann::json::accept(bytes) : bytes.empty() || bytes.back() != '\n') {
            text += name + " is there in part; ";
        }
    }
    return text;
}

bool SavedRun::told_of_leftovers(const Outcome& outcome) {
    return outcome.err.find("could not be removed completely") != std::string::npos;
}

std::string SavedRun::ended_badly(const Outcome& outcome) {
    std::string text;
    if (outcome.code < 0 || outcome.code > 2) text += "exit code " + std::to_string(outcome.code) + "; ";
    if (outcome.code != 0 && outcome.err.find("error") == std::string::npos) text += "no message; ";
    for (const char* sign : {"frame #", "Exception raised from", "terminate called", "what():"}) {
        if (outcome.err.find(sign) != std::string::npos) text += std::string(sign) + " in the message; ";
    }
    return text.empty() ? "" : text + "it said: " + outcome.err;
}

}  // namespace switchyard::test
