#include "core/workbench/cli/runtime_setup.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "core/kernel/machine/cpu_allocator.h"
#include "core/kernel/machine/libtorch_cuda.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/job/auto_choice.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/program.h"
#include "core/workbench/cli/spin.h"

namespace switchyard::cli {
namespace {

[[noreturn]] void begin_anew() {
    std::vector<char*> pointers{program_invocation_name};
    for (const auto& word : program_arguments()) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    give_stdout_back();
    ::execv("/proc/self/exe", pointers.data());
    throw Failure(std::string("runtime.spin: this program cannot be started anew: ") + std::strerror(errno),
                  Exit::run_failed);
}

}  // namespace

void load_device(const HostInfo& host, Device device) {
    if (host.first(device) == nullptr) return;
    if (const auto error = machine::load_libtorch_cuda(); !error.empty()) throw Failure(error);
}

void begin_anew_to_spin(const config::RuntimeConfig& runtime) {
    if (!spins_otherwise(runtime.spin)) return;
    set_spin(runtime.spin);
    begin_anew();
}

void set_up_runtime(const config::RuntimeConfig& runtime, Restart restart) {
    if (restart == Restart::allowed) begin_anew_to_spin(runtime);
    machine::install_cpu_allocator(runtime.allocator);
    set_threads(runtime.threads);
}

}  // namespace switchyard::cli
