// LibTorch's random generators put back to an earlier state, so that a component of RandomSource::library
// draws the same numbers again when its forward is run a second time (activation recomputation).
#pragma once

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/types.h>

namespace switchyard::runtime {

// The state of the CPU's default generator, and of the default generator of one accelerator.
class RandomState {
public:
    // Of `device` and of the CPU; `index` < 0: the current accelerator.
    static RandomState capture(Device device, int index = -1);
    void restore() const;

private:
    at::Tensor cpu_;
    at::Tensor accelerator_;  // undefined for Device::cpu
    int index_ = -1;
};

// For its own lifetime the generators continue from `from`; afterwards they go on where they were.
class ReplayRandom {
public:
    ReplayRandom(const RandomState& from, Device device, int index = -1);
    ~ReplayRandom();
    ReplayRandom(const ReplayRandom&) = delete;
    ReplayRandom& operator=(const ReplayRandom&) = delete;

private:
    RandomState now_;
};

}  // namespace switchyard::runtime
