// Which requests the CUDA kernels serve. Pure, and part of the plugin's base library: a plan for a GPU host
// is made where there is no GPU.
#pragma once

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/request.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard::flash_cuda {

// Few queries follow the table of a paged cache; for many its pages are copied once.
void require_masks(Verdict& verdict, const AttentionRequest& request);

// All reasons, for a request whose device is cuda. `built`: the CUDA library was built with this plugin.
Verdict judge_on_cuda(const AttentionRequest& request, const HostInfo& host, bool built);

}  // namespace switchyard::flash_cuda
