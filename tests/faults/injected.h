// Programs run under the library of injector.cpp, and what is compared after them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "run_switchyard.h"
#include "tiny_job.h"

namespace switchyard::test {

struct Call {
    long number = 0;
    std::string kind, path;
};

// What happens at a call: see SWITCHYARD_FAULTS_FAULT. Nothing, if `name` is empty.
struct Fault {
    std::string name;
    bool lasting = false;
    long at = 0;

    std::string text() const { return name + (lasting ? " from call " : " at call ") + std::to_string(at); }
};

// A program's calls below one folder. `program` is the one that does the work: switchyard hands over to
// switchyard-run.
class Injected {
public:
    explicit Injected(fs::path below, std::string program = "switchyard-run");

    // With `recorded`, what changes the folder goes to recording().
    Outcome run(const Words& words, const Fault& fault = {}, bool recorded = false) const;
    std::vector<Call> calls() const;  // of the last run
    fs::path recording() const { return own_ / "recording"; }

private:
    fs::path below_, own_;
    std::string program_;
};

// What may differ in the folder of a run that came to its end.
struct Allowed {
    bool unfinished_files = false;  // a message said that they could not be removed
};

// A short run whose every step is saved, in the folder `run` of its job.
class SavedRun {
public:
    const TinyJob& job() const { return job_; }
    fs::path place() const { return fs::path(job_.file("job.toml")).parent_path(); }
    fs::path folder() const { return job_.run_folder("run"); }
    // The command that begins it, and the one that goes on if there is something to go on with.
    Words begin() const;
    Words go_on() const;

    // Makes the oracle: a run that nothing interrupted, and all its checkpoints.
    void make_oracle();
    // Makes the folder hold the first half of the run, with a model that the second half replaces.
    void make_half() const;
    // Whether this is a file of the oracle's end, by its name in the run's folder.
    bool is_final(const fs::path& file) const;
    // "": the folder holds what the oracle holds. Else what differs.
    std::string difference(Allowed allowed = {}) const;
    // "": no file of the folder is there in part. `before`: what the folder held at the beginning, which may
    // still stand there.
    std::string half_written(const std::map<std::string, std::string>& before = {}) const;
    // The program ended as a program may: no signal, and a message where it failed. "" if so.
    static std::string ended_badly(const Outcome& outcome);
    // Whether it told of an old checkpoint that could not be removed.
    static bool told_of_leftovers(const Outcome& outcome);

private:
    Words with_sets(const Words& more) const;

    TinyJob job_;
    std::map<std::string, std::string> final_files_, all_files_;
    std::map<std::int64_t, double> losses_, evaluations_;
};

}  // namespace switchyard::test
