// The component on a CUDA device: libwarp_norm_cuda.so, which libwarp_norm.so opens.
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <switchyard/interfaces/normalization.h>
#include <switchyard/sdk/plugin.h>

#include "warp_norm_kernel.h"

namespace {

using namespace switchyard;

NormType type_of(at::ScalarType type) {
    return type == at::kBFloat16 ? NormType::bfloat16
           : type == at::kHalf   ? NormType::float16
                                 : NormType::float32;
}

at::Tensor dense(const at::Tensor& tensor) { return tensor.defined() ? tensor.contiguous() : tensor; }

const void* data_of(const at::Tensor& tensor) { return tensor.defined() ? tensor.const_data_ptr() : nullptr; }

class OnCuda final : public Normalization {
public:
    using Normalization::Normalization;

    NormalizationOutputs forward(const NormalizationInputs& inputs, const NormalizationParams& params,
                                 Saved*) override {
        // x may be on another device than the current one.
        const c10::cuda::CUDAGuard guard(inputs.x.device());
        const at::Tensor x = dense(inputs.x), residual = dense(inputs.residual);
        const at::Tensor weight = dense(inputs.weight), beta = dense(inputs.beta);
        const at::Tensor y = at::empty(x.sizes(), x.options());
        at::Tensor sum;
        if (residual.defined()) sum = at::empty(x.sizes(), x.options());
        NormCall call;
        call.width = x.size(-1);
        call.rows = call.width == 0 ? 0 : x.numel() / call.width;
        call.eps = static_cast<float>(params.eps);
        call.centered = params.norm == NormKind::layer_norm;
        call.type = type_of(x.scalar_type());
        call.parameters_in_float32 = weight.scalar_type() == at::kFloat;
        call.x = data_of(x);
        call.residual = data_of(residual);
        call.weight = data_of(weight);
        call.beta = data_of(beta);
        call.y = y.mutable_data_ptr();
        call.sum = sum.defined() ? sum.mutable_data_ptr() : nullptr;
        launch_warp_norm(call, c10::cuda::getCurrentCUDAStream().stream());
        executed();  // counted where the kernel really runs
        return {y, sum};
    }
};

}  // namespace

SWITCHYARD_EXPORT switchyard::Normalization* switchyard_plugin_cuda_v1(const switchyard::CreateInfo& info) {
    return new OnCuda(info);
}
