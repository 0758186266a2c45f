#include "requests.h"

#include <string>

#include <switchyard/sdk/cuda/serves.h>

#include "tiles.h"

namespace switchyard::flash_cuda {
namespace {

void judge_device(Verdict& verdict, const AttentionRequest& request, const DeviceInfo& device) {
    require_cuda_code(verdict, device);
    const int dim = padded_dim(request.head_dim.max, request.v_head_dim.max);
    if (dim == 0 || device.shared_memory_per_block_bytes == 0) return;  // 0: not known
    const bool distances = request.bias_gradient && request.masks.has(MaskKind::relative_bias);
    const auto needed = static_cast<std::int64_t>(most_shared_bytes(dim, request.needs_grad, distances));
    REQUIRE(verdict, device.shared_memory_per_block_bytes >= needed, Code::Memory, "shared_memory_per_block",
            "at least " + std::to_string(needed) + " bytes for this head_dim",
            device.shared_memory_per_block_bytes);
}

void judge_dim(Verdict& verdict, const char* field, const Range& dim) {
    REQUIRE(verdict, dim.within(8, 256) && dim.all_multiples_of(8), Code::HeadDim, field,
            "one multiple of 8, from 8 to 256, on cuda", dim);
}

}  // namespace

void require_masks(Verdict& verdict, const AttentionRequest& request) {
    AttentionRequest without_pages = request;
    without_pages.paged_cache = false;
    require_any_mask(verdict, without_pages);
    REQUIRE(verdict, !request.paged_cache || !request.needs_grad, Code::Gradient, "needs_grad",
            "false with a paged cache", "true");
}

Verdict judge_on_cuda(const AttentionRequest& request, const HostInfo& host, bool built) {
    Verdict verdict;
    require_cuda_device(verdict, request, host, built);
    REQUIRE(verdict, request.dtype == DType::bfloat16 || request.dtype == DType::float16, Code::DType,
            "dtype", "bfloat16 or float16 on cuda", name(request.dtype));
    judge_dim(verdict, "head_dim", request.head_dim);
    judge_dim(verdict, "v_head_dim", request.v_head_dim);
    require_masks(verdict, request);
    const bool dense = request.bias_gradient && request.masks.has(MaskKind::dense_bias);
    REQUIRE(verdict, !dense || !request.deterministic, Code::Determinism, "deterministic",
            "false on cuda with the gradient of a dense bias (where that is broadcast, it is added up "
            "atomically)",
            "true");
    if (const DeviceInfo* const device = host.first(Device::cuda)) judge_device(verdict, request, *device);
    return verdict;
}

}  // namespace switchyard::flash_cuda
