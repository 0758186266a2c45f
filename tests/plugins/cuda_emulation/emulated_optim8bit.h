// The component of plugins/optim8bit on the emulated device: its host code and its kernels, with tensors in
// ordinary memory.
#pragma once

#include <switchyard/interfaces/verdict.h>

#include "emulated_optimizer.h"
#include "step_on_device.h"

namespace switchyard::test {

class EmulatedOptim8Bit final : public EmulatedOptimizer<optim8bit_cuda::StepOnDevice> {
public:
    using EmulatedOptimizer::EmulatedOptimizer;

    static Verdict supports(const OptimizerRequest& request, const HostInfo& host, const Options& options);
};

}  // namespace switchyard::test
