#include "core/kernel/machine/address_sanitizer.h"

#include <dlfcn.h>

namespace switchyard::machine {

bool address_sanitizer_runs() {
    static const bool runs = ::dlsym(RTLD_DEFAULT, "__asan_init") != nullptr;
    return runs;
}

}  // namespace switchyard::machine
