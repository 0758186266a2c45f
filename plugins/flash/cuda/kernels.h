// The passes of an attention call: which kernels, with which geometry. Plain C++; `stream` is a cudaStream_t.
#pragma once

#include "launchers.h"
#include "params.h"
#include "tiles.h"

namespace switchyard::flash_cuda {

void forward_pass(Storage storage, const Params& params, const Shape& shape, void* stream);

// out, grad_out, softmax, and delta as room for what is computed first. dq, dk, dv, distance_gradient and
// dense_gradient where they are wanted.
void backward_pass(Storage storage, const Params& params, const Shape& shape, void* stream);

// is_decoding(shape), no dropout. `params.splits` and, above 1, the room for what the splits find.
void decode(Storage storage, const Params& params, const Shape& shape, void* stream);

}  // namespace switchyard::flash_cuda
