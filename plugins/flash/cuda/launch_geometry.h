// How a kernel is started: what the host computes, and what it can be asked without a device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace switchyard::flash_cuda {

struct Launch {
    std::int64_t blocks = 0;  // 0: nothing to do, no launch
    int threads = 0;
    std::size_t shared_bytes = 0;
};

}  // namespace switchyard::flash_cuda
