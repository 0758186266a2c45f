#include "core/kernel/machine/libtorch_cuda.h"

#include <dlfcn.h>

#include "core/kernel/machine/dlopen_error.h"

namespace switchyard::machine {

std::string load_libtorch_cuda() {
    // Found where libtorch_cpu.so was: by the search path in this program.
    constexpr auto library = "libtorch_cuda.so";
    if (dlopen(library, RTLD_NOW | RTLD_GLOBAL) != nullptr) return "";
    const char* message = dlerror();
    const auto error = explain_dlopen_error(library, message == nullptr ? "" : message);
    return "LibTorch's CUDA library cannot be loaded: " + error.reason +
           "; `./dev setup --cuda` brings what it needs";
}

}  // namespace switchyard::machine
