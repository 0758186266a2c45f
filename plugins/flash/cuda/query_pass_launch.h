// The body of query_pass_*.cu.
#pragma once

#include "launchers.h"
#include "query_pass.h"

namespace switchyard::flash_cuda {

template <int kDim>
void launch_query_pass(Storage storage, const Params& params, const Launch& geometry, void* stream) {
    const bool bf16 = storage == Storage::bf16;
    if (has_terms(params)) {
        bf16 ? device::launch(QueryPass<Bf16, kDim, true>{params}, geometry, stream)
             : device::launch(QueryPass<Fp16, kDim, true>{params}, geometry, stream);
    } else {
        bf16 ? device::launch(QueryPass<Bf16, kDim, false>{params}, geometry, stream)
             : device::launch(QueryPass<Fp16, kDim, false>{params}, geometry, stream);
    }
}

}  // namespace switchyard::flash_cuda
