// In place of LibTorch's: the emulator's only stream.
#pragma once

#include "start.h"

namespace c10::cuda {

class CUDAStream {
public:
    void* stream() const { return switchyard::emulation::current_stream(); }
};

inline CUDAStream getCurrentCUDAStream() { return {}; }

}  // namespace c10::cuda
