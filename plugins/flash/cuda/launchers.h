// What the host calls to start a kernel. One instance a head size, each in a source of its own: they are what
// takes time to compile.
#pragma once

#include <cstdint>

#include "params.h"
#include "tiles.h"

namespace switchyard::flash_cuda {

enum class Storage : std::uint8_t { bf16, fp16 };

template <int kDim>
void launch_forward(Storage storage, const Params& params, const Launch& launch, void* stream);
template <int kDim>
void launch_query_pass(Storage storage, const Params& params, const Launch& launch, void* stream);
template <int kDim>
void launch_key_pass(Storage storage, const Params& params, const Launch& launch, void* stream);
template <int kDim>
void launch_decode(Storage storage, const Params& params, const Launch& launch, void* stream);

void launch_delta(Storage storage, const Params& params, const Launch& launch, void* stream);
void launch_combine(Storage storage, const Params& params, const Launch& launch, void* stream);

}  // namespace switchyard::flash_cuda
