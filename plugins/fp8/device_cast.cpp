#include "device_cast.h"

#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <switchyard/sdk/cuda/part.h>

#include "cuda/cast.h"

namespace switchyard::fp8 {

Scaled cast_on_device(const at::Tensor& x, Format format, const at::Tensor& scale) {
    using Cast = void(const DeviceCast&);
    static Cast* const cast = sdk::cuda_part<Cast>();
    const bool low = x.scalar_type() == at::kBFloat16;
    const at::Tensor from = (low ? x : x.to(at::kFloat)).contiguous();
    const at::Tensor amax = at::zeros({}, from.options().dtype(at::kInt));
    Scaled result;
    result.operand.values = at::empty(from.sizes(), from.options().dtype(scalar_type(format)));
    DeviceCast call;
    call.x = from.const_data_ptr();
    call.bfloat16 = low;
    call.e5m2 = format == Format::e5m2;
    call.out = static_cast<std::uint8_t*>(result.operand.values.mutable_data_ptr());
    call.scale = scale.const_data_ptr<float>();
    call.amax_bits = static_cast<std::uint32_t*>(amax.mutable_data_ptr());
    call.count = from.numel();
    call.device = from.device().index();
    cast(call);
    result.amax = amax.view(at::kFloat);
    result.operand.inverse_scale =
        at::where(result.amax.isfinite(), at::reciprocal(scale), std::numeric_limits<float>::quiet_NaN());
    return result;
}

}  // namespace switchyard::fp8
