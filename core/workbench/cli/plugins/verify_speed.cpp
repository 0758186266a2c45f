#include "core/workbench/cli/plugins/verify_speed.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <vector>

#include "core/kernel/base/child_process.h"
#include "core/kernel/base/joined.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/machine/program_paths.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/temporary_folder.h"

namespace switchyard::cli {
namespace {

constexpr double look_every_ms = 100.0;
constexpr double most_seconds = 20.0;  // of its tables, as bench has by itself

// LibTorch's own calls, or for these the plain loops.
std::string rival_of(const std::string& component) {
    return component == "torch/torch" ? "naive/naive" : "torch/torch";
}

std::vector<std::string> words_of(const VerifyRequest& request, const ToTime& component,
                                  const std::string& json, double timeout_ms) {
    const std::string kind(name(component.kind)), title = component.plugin + "/" + component.id;
    std::vector<std::string> words{machine::belonging_path("libexec/switchyard/switchyard-run"), "bench",
                                   kind};
    const auto add = [&](const char* option, const std::string& value) {
        words.emplace_back(option);
        words.push_back(value);
    };
    add("--backends", title + "," + rival_of(title));
    add("--base", rival_of(title));
    add("--seed", std::to_string(request.seed));
    add("--time-budget", base::digits(std::min(most_seconds, timeout_ms / 1e4)));  // a tenth of it
    if (!request.dtypes.empty()) add("--dtype", base::joined(request.dtypes, ","));
    for (const auto& option : component.options)
        add("--set", kind + ".options." + component.id + "." + option);
    add("--json", json);
    return words;
}

std::string library_path(const std::string& library) {
    const char* before = std::getenv("SWITCHYARD_PLUGIN_PATH");
    const auto path = std::filesystem::absolute(library).string();
    return "SWITCHYARD_PLUGIN_PATH=" + path + (before == nullptr ? "" : ":" + std::string(before));
}

void read_rows(const ToTime& component, TimedComponent& timed) {
    for (const auto& row : timed.bench.at("rows")) {
        if (row.at("plugin") != component.plugin || row.at("component") != component.id) continue;
        const auto status = row.at("status").get<std::string>();
        timed.was_timed = timed.was_timed || status == "ok" || status == "wrong";
        timed.is_wrong = timed.is_wrong || status == "wrong" || status == "failed";
    }
}

}  // namespace

TimedComponent time_component(const VerifyRequest& request, const ToTime& component, bool prints,
                              const std::function<bool()>& stop, double timeout_ms) {
    TimedComponent timed;
    const TemporaryFolder folder;
    const auto json = folder.path() + "/bench.json";
    base::Program program;
    program.words = words_of(request, component, json, timeout_ms);
    program.environment = {library_path(component.library)};
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    std::cout.flush();
    const std::array<int, 3> streams{nowhere, prints ? STDOUT_FILENO : nowhere, STDERR_FILENO};
    const auto process = base::start_program(program, streams, timed.refused);
    ::close(nowhere);
    if (process < 0) return timed;
    const auto begun = std::chrono::steady_clock::now();
    std::optional<base::Ending> ending;
    while (!(ending = base::ending_within(process, look_every_ms))) {
        const std::chrono::duration<double, std::milli> since = std::chrono::steady_clock::now() - begun;
        timed.stopped = stop();
        if (!timed.stopped && since.count() < timeout_ms) continue;
        ::kill(-process, SIGKILL);
        if (!timed.stopped)
            timed.refused =
                "timing it did not end within " + base::digits(timeout_ms / 1e3) + " s (--timeout)";
        base::reap(process);
        return timed;
    }
    base::reap(process);
    const auto text = base::read_text(json);
    if (!text) {
        timed.refused = "timing it: the process " + ending->text;
        return timed;
    }
    timed.bench = base::parse_object(*text, json);
    read_rows(component, timed);
    return timed;
}

}  // namespace switchyard::cli
