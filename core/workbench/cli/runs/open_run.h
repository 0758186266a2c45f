// The folder of a run that begins or goes on, and this process's right to write it.
#pragma once

#include <string>
#include <vector>

#include "core/workbench/train/run_directory.h"
#include "core/workbench/train/run_lock.h"

namespace switchyard::cli {

// What the command line says of it.
struct RunBegin {
    std::string folder = "runs/train";
    bool resume = false;
    bool resume_if_begun = false;  // --resume auto
    std::vector<std::string> allowed_changes;
};

class OpenRun {
public:
    // Throws Failure where no run can begin there, or there is none to go on with.
    explicit OpenRun(const RunBegin& begin);
    // For a rank that reads it and writes nothing.
    OpenRun(const std::string& folder, bool resume) : directory_(folder), resume_(resume) {}

    // Before the first thing is written.
    void prepare(const std::string& record, const train::SaveSizes& sizes);

    bool resume() const { return resume_; }
    const train::RunDirectory& directory() const { return directory_; }

private:
    void check() const;
    void lock();

    train::RunDirectory directory_;
    bool resume_;
    train::RunLock lock_;
    bool locked_ = false;
};

}  // namespace switchyard::cli
