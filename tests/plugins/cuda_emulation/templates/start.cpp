#include "start.h"

#include <cstring>
#include <limits>

#include "grid_emulation.h"

// Where the variables lie that are shared by a block (device/cuda_runtime.h); the linker knows where they
// begin and end.
extern "C" unsigned char __start_emulated_shared[] __attribute__((weak));
extern "C" unsigned char __stop_emulated_shared[] __attribute__((weak));

namespace switchyard::emulation {
namespace {

int alive = 0, not_asked = 0;
bool refused = false;

// Floating numbers become NaN.
void forget_shared_memory() {
    std::memset(__start_emulated_shared, 0xFF,
                static_cast<std::size_t>(__stop_emulated_shared - __start_emulated_shared));
}

}  // namespace

int& guards() { return alive; }

void* current_stream() {
    static char stream = 0;
    return &stream;
}

void start(const std::function<void()>& kernel, std::int64_t blocks, int threads, std::size_t shared,
           void* stream) {
    if (stream != current_stream()) throw Violation("a launch in another stream than LibTorch's current one");
    if (guards() == 0) throw Violation("a launch without a guard of the tensors' device");
    ++not_asked;
    refused =
        blocks < 1 || blocks > std::numeric_limits<std::int32_t>::max() || threads < 1 || threads > 1024;
    if (refused) return;
    std::int64_t begun = -1;
    run_grid({blocks, threads, shared}, [&](unsigned char*) {
        if (begun != current_block()) forget_shared_memory();  // its first thread is here
        begun = current_block();
        kernel();
    });
}

bool take_error() {
    not_asked = 0;
    const bool was = refused;
    refused = false;
    return was;
}

int unchecked() { return not_asked; }

}  // namespace switchyard::emulation
