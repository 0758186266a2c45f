// The body of forward_*.cu.
#pragma once

#include "forward.h"
#include "launchers.h"

namespace switchyard::flash_cuda {

template <int kDim>
void launch_forward(Storage storage, const Params& params, const Launch& geometry, void* stream) {
    const bool bf16 = storage == Storage::bf16;
    if (has_terms(params)) {
        bf16 ? device::launch(ForwardKernel<Bf16, kDim, true>{params}, geometry, stream)
             : device::launch(ForwardKernel<Fp16, kDim, true>{params}, geometry, stream);
    } else {
        bf16 ? device::launch(ForwardKernel<Bf16, kDim, false>{params}, geometry, stream)
             : device::launch(ForwardKernel<Fp16, kDim, false>{params}, geometry, stream);
    }
}

}  // namespace switchyard::flash_cuda
