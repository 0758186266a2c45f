#include "core/workbench/cli/runs/open_run.h"

#include <filesystem>
#include <iostream>
#include <utility>

#include "core/workbench/cli/command.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {

OpenRun::OpenRun(const RunBegin& begin) : directory_(begin.folder), resume_(begin.resume) {
    std::error_code error;
    const bool is_folder = std::filesystem::is_directory(begin.folder, error);
    if (begin.resume_if_begun) resume_ = train::RunDirectory::holds_run(begin.folder);
    if (!resume_ && !begin.allowed_changes.empty() && !begin.resume_if_begun)
        throw Failure("--allow-change is only for --resume: give --resume too");
    check();
    if (!is_folder) return;
    lock();
    if (begin.resume_if_begun) resume_ = train::RunDirectory::holds_run(begin.folder);
    check();
}

void OpenRun::prepare(const std::string& record, const train::SaveSizes& sizes) {
    const auto& path = directory_.path();
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) throw Failure("cannot create the folder " + path + ": " + error.message());
    lock();
    check();
    const auto fault = train::RunDirectory::prepare(path, resume_ ? "" : record, sizes);
    if (!fault.empty()) throw Failure(fault);
}

void OpenRun::check() const {
    const auto& path = directory_.path();
    if (!resume_) {
        if (const auto error = train::RunDirectory::cannot_begin(path); !error.empty()) throw Failure(error);
    } else if (!train::RunDirectory::holds_run(path)) {
        throw Failure(path + ": error: there is no run to resume; to start one, leave out --resume");
    }
}

void OpenRun::lock() {
    if (const auto error = lock_.take(directory_.path(), command_line()); !error.empty())
        throw Failure(error);
    if (!std::exchange(locked_, true)) std::cerr << lock_.warning();
}

}  // namespace switchyard::cli
