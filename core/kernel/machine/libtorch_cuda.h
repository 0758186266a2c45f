// LibTorch's CUDA half: no program links it, since on a machine without a device it would only cost time and
// memory.
#pragma once

#include <string>

namespace switchyard::machine {

// Loads it for the rest of the process; "" or what is wrong, in plain words. To be called before LibTorch is
// first asked for a tensor on CUDA, because LibTorch remembers what it then found.
std::string load_libtorch_cuda();

}  // namespace switchyard::machine
