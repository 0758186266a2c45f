#include "decode.h"
#include "launchers.h"

namespace switchyard::flash_cuda {

template <int kDim>
void launch_decode(Storage storage, const Params& params, const Launch& geometry, void* stream) {
    storage == Storage::bf16 ? device::launch(DecodeKernel<Bf16, kDim>{params}, geometry, stream)
                             : device::launch(DecodeKernel<Fp16, kDim>{params}, geometry, stream);
}
template void launch_decode<64>(Storage, const Params&, const Launch&, void*);
template void launch_decode<128>(Storage, const Params&, const Launch&, void*);
template void launch_decode<256>(Storage, const Params&, const Launch&, void*);

}  // namespace switchyard::flash_cuda
