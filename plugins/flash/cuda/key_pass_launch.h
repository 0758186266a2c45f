// The body of key_pass_*.cu.
#pragma once

#include "key_pass.h"
#include "launchers.h"

namespace switchyard::flash_cuda {

template <int kDim>
void launch_key_pass(Storage storage, const Params& params, const Launch& geometry, void* stream) {
    const bool bf16 = storage == Storage::bf16;
    if (has_terms(params)) {
        bf16 ? device::launch(KeyPass<Bf16, kDim, true>{params}, geometry, stream)
             : device::launch(KeyPass<Fp16, kDim, true>{params}, geometry, stream);
    } else {
        bf16 ? device::launch(KeyPass<Bf16, kDim, false>{params}, geometry, stream)
             : device::launch(KeyPass<Fp16, kDim, false>{params}, geometry, stream);
    }
}

}  // namespace switchyard::flash_cuda
