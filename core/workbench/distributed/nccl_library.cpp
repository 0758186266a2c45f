#include "core/workbench/distributed/nccl_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "core/kernel/base/input_error.h"
#include "core/kernel/machine/dlopen_error.h"
#include "core/kernel/machine/program_paths.h"

namespace switchyard::distributed {
namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw base::InputError("error: distributed.backend: nccl: " + why);
}

}  // namespace

void name_nccl_interface(const std::string& interface) {
    // Without "=" it would be all interfaces that begin so.
    if (!interface.empty()) ::setenv("NCCL_SOCKET_IFNAME", ("=" + interface).c_str(), 0);
}

void add_nccl(void* group, const void* store, double timeout_seconds) {
    const auto path = machine::belonging_path(nccl_library);
    if (path.empty())
        refuse(std::string(nccl_library) +
               " is not beside this program: it is built where nvcc and nccl.h are found");
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* const message = dlerror();
        refuse(machine::explain_dlopen_error(path, message == nullptr ? "" : message).reason);
    }
    auto* const add = reinterpret_cast<AddNccl*>(dlsym(library, nccl_symbol));
    if (add == nullptr) refuse(path + " exports no " + nccl_symbol + ": build it again");
    if (const char* const problem = add(group, store, timeout_seconds)) refuse(problem);
}

}  // namespace switchyard::distributed
