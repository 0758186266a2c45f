// switchyard config check CONFIG
#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

#include <switchyard/base/limits.h>
#include <switchyard/base/printable.h>
#include <switchyard/cli/commands.h>
#include <switchyard/cli/job.h>
#include <switchyard/cli/output.h>
#include <switchyard/cli/start_check.h>
#include <switchyard/config/show.h>

namespace switchyard::cli {
namespace {

std::string told_in_part(const std::vector<std::string>& problems) {
    constexpr std::size_t most = base::limits::listed_problems;
    std::string text;
    for (std::size_t i = 0; i < std::min(problems.size(), most); ++i) text += problems[i] + "\n";
    if (problems.size() > most) text += "and " + std::to_string(problems.size() - most) + " more\n";
    return problems.size() > 1 ? text + counted(problems.size(), "error") + "\n" : text;
}

}  // namespace

Action setup_config_check(CLI::App& command) {
    const auto options = std::make_shared<JobOptions>();
    add_job_options(command, *options);
    return [options] {
        const auto job = load_job_by_manifests(*options);
        const auto problems = start_problems(job);
        if (!problems.empty()) throw Failure(told_in_part(problems));
        if (job.config.data.train.empty())
            std::cerr << "note: data.train names no file: it can be planned and timed, but not trained\n";
        std::cout << base::printable(options->config) << ": no mistakes ("
                  << counted(job.files.size(), "file") << " read, fingerprint "
                  << config::fingerprint(job.config) << ")\n";
        return Exit::fine;
    };
}

}  // namespace switchyard::cli
