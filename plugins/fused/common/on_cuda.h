// The component of the same kind in the plugin's CUDA library (cuda/component.cpp), for a CUDA device; none
// for the CPU.
#pragma once

#include <memory>

#include <switchyard/interfaces/component.h>
#include <switchyard/interfaces/kinds.h>
#include <switchyard/sdk/cuda/part.h>

namespace switchyard::fused {

template <class Interface>
std::unique_ptr<Interface> made_on_cuda(const CreateInfo& info) {
    if (info.device() != Device::cuda) return nullptr;
    using Make = Component*(Kind, const CreateInfo&);
    return std::unique_ptr<Interface>(
        static_cast<Interface*>(sdk::cuda_part<Make>()(kind_of<Interface>, info)));
}

}  // namespace switchyard::fused
