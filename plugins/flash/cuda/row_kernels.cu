#include "launchers.h"
#include "row_kernels.h"

namespace switchyard::flash_cuda {

void launch_delta(Storage storage, const Params& params, const Launch& geometry, void* stream) {
    storage == Storage::bf16 ? device::launch(DeltaKernel<Bf16>{params}, geometry, stream)
                             : device::launch(DeltaKernel<Fp16>{params}, geometry, stream);
}

void launch_combine(Storage storage, const Params& params, const Launch& geometry, void* stream) {
    storage == Storage::bf16 ? device::launch(CombineKernel<Bf16>{params}, geometry, stream)
                             : device::launch(CombineKernel<Fp16>{params}, geometry, stream);
}

}  // namespace switchyard::flash_cuda
