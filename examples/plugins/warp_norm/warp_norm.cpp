// Legend:  R rows  W width
#include "warp_norm.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <switchyard/sdk/cuda/part.h>
#include <switchyard/sdk/cuda/serves.h>

using namespace switchyard;

namespace {

// What a thread takes at once, at least.
constexpr std::int64_t values_of_a_task = 16384;

struct Rows {
    const void* x = nullptr;
    const void* residual = nullptr;  // or nullptr
    const void* weight = nullptr;
    const void* beta = nullptr;  // or nullptr
    void* y = nullptr;
    void* sum = nullptr;  // where there is a residual
    std::int64_t width = 0;
    bool centered = true;
    double eps = 0.0;
};

// T: of x; P: of weight and beta. The sum is rounded to T, and the norm is of the rounded sum.
template <class T, class P>
void norm_rows(const Rows& rows, std::int64_t begin, std::int64_t end) {
    const std::int64_t width = rows.width;
    const auto* const weight_W = static_cast<const P*>(rows.weight);
    const auto* const beta_W = static_cast<const P*>(rows.beta);
    for (std::int64_t r = begin; r < end; ++r) {
        const T* s = static_cast<const T*>(rows.x) + r * width;
        T* const y = static_cast<T*>(rows.y) + r * width;
        if (rows.residual != nullptr) {
            const T* const residual = static_cast<const T*>(rows.residual) + r * width;
            T* const sum = static_cast<T*>(rows.sum) + r * width;
            for (std::int64_t c = 0; c < width; ++c)
                sum[c] = static_cast<T>(static_cast<float>(residual[c]) + static_cast<float>(s[c]));
            s = sum;
        }
        // A CPU has the time for sums in float64.
        double mean = 0.0, squares = 0.0;
        if (rows.centered) {
            for (std::int64_t c = 0; c < width; ++c) mean += static_cast<float>(s[c]);
            mean /= static_cast<double>(width);
        }
        for (std::int64_t c = 0; c < width; ++c) {
            const double apart = static_cast<float>(s[c]) - mean;
            squares += apart * apart;
        }
        const double scale = 1.0 / std::sqrt(squares / static_cast<double>(width) + rows.eps);
        for (std::int64_t c = 0; c < width; ++c) {
            const auto normed = static_cast<float>((static_cast<float>(s[c]) - mean) * scale);
            const float scaled = normed * static_cast<float>(weight_W[c]);
            y[c] = static_cast<T>(beta_W == nullptr ? scaled : scaled + static_cast<float>(beta_W[c]));
        }
    }
}

using Function = void (*)(const Rows&, std::int64_t, std::int64_t);

template <class T>
Function function_for(at::ScalarType parameters) {
    return parameters == at::kFloat ? norm_rows<T, float> : norm_rows<T, T>;
}

Function function_for(at::ScalarType values, at::ScalarType parameters) {
    if (values == at::kBFloat16) return function_for<at::BFloat16>(parameters);
    if (values == at::kHalf) return function_for<at::Half>(parameters);
    return norm_rows<float, float>;
}

const void* data_of(const at::Tensor& tensor) { return tensor.defined() ? tensor.const_data_ptr() : nullptr; }

}  // namespace

WarpNorm::WarpNorm(const CreateInfo& info) : Normalization(info) {
    using Make = Normalization*(const CreateInfo&);
    if (info.device() == Device::cuda) on_cuda_.reset(sdk::cuda_part<Make>()(info));
}

Verdict WarpNorm::supports(const NormalizationRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    if (request.device == Device::cuda)
        require_cuda_part(verdict, request, host, SWITCHYARD_PLUGIN_CUDA == 1);
    REQUIRE(verdict, is_float_to_32_bits(request.dtype), Code::DType, "dtype", "float32, bfloat16 or float16",
            name(request.dtype));
    REQUIRE(verdict, request.parameter_dtype == request.dtype || request.parameter_dtype == DType::float32,
            Code::DType, "parameter_dtype", "the dtype of x, or float32", name(request.parameter_dtype));
    // The core adds a bias and applies dropout around a component that says no to them.
    REQUIRE(verdict, !request.input_bias, Code::Fusion, "input_bias", "no bias", "a bias");
    REQUIRE(verdict, request.dropout == 0.0, Code::Dropout, "dropout", "0", request.dropout);
    return verdict;
}

NormalizationOutputs WarpNorm::forward(const NormalizationInputs& inputs, const NormalizationParams& params,
                                       Saved* saved) {
    if (on_cuda_) return on_cuda_->forward(inputs, params, saved);
    const at::Tensor x = inputs.x.contiguous(), weight = inputs.weight.contiguous();
    const at::Tensor beta = inputs.beta.defined() ? inputs.beta.contiguous() : inputs.beta;
    const at::Tensor residual = inputs.residual.defined() ? inputs.residual.contiguous() : inputs.residual;
    const at::Tensor y = at::empty(x.sizes(), x.options());
    at::Tensor sum;
    if (residual.defined()) sum = at::empty(x.sizes(), x.options());
    Rows rows;
    rows.x = data_of(x);
    rows.residual = data_of(residual);
    rows.weight = data_of(weight);
    rows.beta = data_of(beta);
    rows.y = y.mutable_data_ptr();
    rows.sum = sum.defined() ? sum.mutable_data_ptr() : nullptr;
    rows.width = x.size(-1);
    rows.centered = params.norm == NormKind::layer_norm;
    rows.eps = params.eps;
    const Function function = function_for(x.scalar_type(), weight.scalar_type());
    const std::int64_t width = std::max<std::int64_t>(1, rows.width);
    at::parallel_for(0, x.numel() / width, std::max<std::int64_t>(1, values_of_a_task / width),
                     [&](std::int64_t begin, std::int64_t end) { function(rows, begin, end); });
    executed();
    return {y, sum};
}
