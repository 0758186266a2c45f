// Legend:  R rows  W width of the output
// Each row of x is [gate | value], so a row is read once, forward and backward.
#include "swiglu.h"

#include <algorithm>
#include <cmath>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <switchyard/interfaces/require.h>

using namespace switchyard;

namespace {

float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

// Calls `row(index)` for every row, `grain` values or more to a thread.
template <class Row>
void for_each_row(std::int64_t rows, std::int64_t width, std::int64_t grain, const Row& row) {
    const std::int64_t rows_per_thread = std::max<std::int64_t>(1, grain / std::max<std::int64_t>(1, width));
    at::parallel_for(0, rows, rows_per_thread, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) row(r);
    });
}

}  // namespace

// `executed()` of the base class counts what really ran, so it must get the CreateInfo.
SwiGlu::SwiGlu(const CreateInfo& info) : Activation(info), grain_(info.options.integer("grain")) {}

Verdict SwiGlu::supports(const ActivationRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu", name(request.device));
    REQUIRE(verdict, request.dtype == DType::float32, Code::DType, "dtype", "float32", name(request.dtype));
    REQUIRE(verdict, request.activation == ActivationKind::swiglu, Code::Algorithm, "activation", "swiglu",
            name(request.activation));
    // The core adds the bias and applies dropout around a component that says no to them, and the plan shows
    // it.
    REQUIRE(verdict, !request.input_bias, Code::Fusion, "input_bias", "no bias", "a bias");
    REQUIRE(verdict, request.dropout == 0.0, Code::Dropout, "dropout", "0", request.dropout);
    return verdict;
}

at::Tensor SwiGlu::forward(const ActivationInputs& inputs, const ActivationParams&, Saved* saved) {
    const at::Tensor x = inputs.x.contiguous();
    const std::int64_t width = x.size(-1) / 2;
    auto sizes = x.sizes().vec();
    sizes.back() = width;
    at::Tensor y = at::empty(sizes, x.options());

    const float* const x_R2W = x.const_data_ptr<float>();
    float* const y_RW = y.mutable_data_ptr<float>();
    for_each_row(width == 0 ? 0 : y.numel() / width, width, grain_, [&](std::int64_t r) {
        const float* const gate = x_R2W + 2 * r * width;
        const float* const value = gate + width;
        for (std::int64_t c = 0; c < width; ++c) y_RW[r * width + c] = gate[c] * sigmoid(gate[c]) * value[c];
    });
    if (saved != nullptr) saved->input(inputs.x);  // null where no gradient will be asked for
    executed();
    return y;
}

// With s = sigmoid(gate):  d gate = g * value * s * (1 + gate * (1 - s)),   d value = g * gate * s.
ActivationGrads SwiGlu::backward(const ActivationParams&, const Saved& saved, const at::Tensor& grad_y,
                                 const ActivationNeeds&) {
    const at::Tensor x = saved[0].contiguous();
    const at::Tensor g = grad_y.contiguous();
    at::Tensor grad_x = at::empty_like(x);
    const std::int64_t width = g.size(-1);

    const float* const x_R2W = x.const_data_ptr<float>();
    const float* const g_RW = g.const_data_ptr<float>();
    float* const grad_R2W = grad_x.mutable_data_ptr<float>();
    for_each_row(width == 0 ? 0 : g.numel() / width, width, grain_, [&](std::int64_t r) {
        const float* const gate = x_R2W + 2 * r * width;
        const float* const value = gate + width;
        float* const grad_gate = grad_R2W + 2 * r * width;
        float* const grad_value = grad_gate + width;
        for (std::int64_t c = 0; c < width; ++c) {
            const float s = sigmoid(gate[c]);
            const float upstream = g_RW[r * width + c];
            grad_gate[c] = upstream * value[c] * s * (1.0F + gate[c] * (1.0F - s));
            grad_value[c] = upstream * gate[c] * s;
        }
    });
    return {grad_x, {}};
}
