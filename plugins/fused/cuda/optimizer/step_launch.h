// What the host calls to start the kernels of an optimizer's step.
#pragma once

#include <switchyard/sdk/cuda/device_optimizer_table.h>

namespace switchyard::fused_cuda {

enum class Rule : std::uint8_t { adamw, adam, sgd, lion, lamb, muon };

// Of rules whose step needs something of the whole tensor: LAMB's trust ratio, Muon's norm. Two launches
// then.
struct WholeTensors {
    double* sums = nullptr;    // [pieces, 2]: squares of the weight and of the direction
    float* factors = nullptr;  // [tensors]: LAMB's trust ratio, Muon's 1 / norm; what follows from the sums
};

constexpr std::size_t step_shared_bytes = 256;

void launch_norm(const device::NormCall& call, const device::Launch& geometry, void* stream);
// All of the step; of LAMB and Muon the moments, and Muon's directions into TensorOfStep::second. `counts`:
// no other launch follows.
void launch_step(const device::StepCall& call, const WholeTensors& whole, bool counts,
                 const device::Launch& geometry, void* stream);
// The step of LAMB and Muon, the latter along what `second` holds now.
void launch_second_step(const device::StepCall& call, const WholeTensors& whole,
                        const device::Launch& geometry, void* stream);

}  // namespace switchyard::fused_cuda
