#include "activation.h"

#include <optional>

#include <ATen/ops/empty.h>

#include "activation_kernels.h"
#include "common/on_cuda.h"
#include "common/rows.h"
#include "common/serves_cpu.h"

namespace switchyard {
namespace {

using namespace fused;

// Rows of y; those of x are as many, twice as wide where gated.
RowShape result_shape(const at::Tensor& x, bool gated) {
    const RowShape of_x = row_shape(x);
    return {of_x.rows, gated ? of_x.width / 2 : of_x.width};
}

std::vector<std::int64_t> result_sizes(const at::Tensor& x, bool gated) {
    auto sizes = x.sizes().vec();
    if (gated) sizes.back() /= 2;
    return sizes;
}

template <class Call>
void describe(Call& call, const ActivationParams& params, const RowShape& shape,
              const std::vector<RowPosition>& positions) {
    call.curve = curve_of(params.activation);
    call.gated = is_gated(params.activation);
    call.width = shape.width;
    call.dropout = row_dropout(params.dropout, positions);
}

}  // namespace

FusedActivation::FusedActivation(const CreateInfo& info)
    : Activation(info),
      last_cache_bytes_(info.host == nullptr ? 0 : info.host->l3_bytes),
      on_cuda_(made_on_cuda<Activation>(info)) {}

Verdict FusedActivation::supports(const ActivationRequest& request, const HostInfo& host,
                                  const Options&) {
    Verdict verdict;
    require_storage(verdict, request, host);
    REQUIRE(verdict, request.activation <= ActivationKind::identity, Code::Algorithm, "activation",
            "gelu_erf, gelu_tanh, relu, silu, swiglu, geglu_erf, geglu_tanh, reglu or identity",
            name(request.activation));
    return verdict;
}

at::Tensor FusedActivation::forward(const ActivationInputs& inputs, const ActivationParams& params,
                                    Saved* saved) {
    if (on_cuda_) return on_cuda_->forward(inputs, params, saved);
    const bool gated = is_gated(params.activation);
    const RowShape shape = result_shape(inputs.x, gated);
    const at::Tensor x = dense(inputs.x), bias = dense_float(inputs.bias);
    const auto positions = positions_of(params.dropout, params.tokens, inputs.x.sizes());
    at::Tensor y = at::empty(result_sizes(x, gated), x.options());

    executed();
    in_storage(x.scalar_type(), [&](auto type) {
        using T = decltype(type);
        ActivationForward<T> call;
        describe(call, params, shape, positions);
        call.x = data_of<T>(x);
        call.bias = data_of<float>(bias);
        call.y = mutable_data_of<T>(y);
        call.streams = may_stream(x, y, shape.width, last_cache_bytes_);
        const auto& kernels = activation_kernels<T>();
        over_rows(shape, [&](std::int64_t begin, std::int64_t end) { kernels.forward(call, begin, end); });
    });
    if (saved != nullptr) {
        // A relu is known by its result, which the layer after it keeps anyway.
        if (params.activation == ActivationKind::relu) {
            saved->output(y);
        } else if (params.activation != ActivationKind::identity) {
            saved->input(inputs.x);
            saved->input(inputs.bias);
        }
        saved->integers = {
            static_cast<std::int64_t>(inputs.bias.defined() ? inputs.bias.scalar_type() : at::kFloat)};
    }
    return y;
}

ActivationGrads FusedActivation::backward(const ActivationParams& params, const Saved& saved,
                                          const at::Tensor& grad_y, const ActivationNeeds& needs) {
    if (on_cuda_) return on_cuda_->backward(params, saved, grad_y, needs);
    const bool by_result = params.activation == ActivationKind::relu;
    const bool by_gradient = params.activation == ActivationKind::identity;
    const at::Tensor dy = dense(grad_y), kept = by_gradient ? dy : dense(saved[0]);
    const at::Tensor bias = by_result || by_gradient ? at::Tensor() : dense_float(saved[1]);
    const RowShape of_x = row_shape(kept), shape = result_shape(kept, is_gated(params.activation));
    const auto positions =
        by_result ? std::vector<RowPosition>() : positions_of(params.dropout, params.tokens, kept.sizes());
    ActivationGrads grads;
    if (needs.x) grads.x = at::empty(kept.sizes(), kept.options());
    std::optional<RowSums> sums;
    if (needs.bias) sums.emplace(of_x, 1);

    in_storage(kept.scalar_type(), [&](auto type) {
        using T = decltype(type);
        ActivationBackward<T> call;
        describe(call, params, shape, positions);
        if (by_result) call.dropout.positions = nullptr;
        if (!by_gradient) (by_result ? call.y : call.x) = data_of<T>(kept);
        call.bias = data_of<float>(bias);
        call.grad_y = data_of<T>(dy);
        call.grad_x = mutable_data_of<T>(grads.x);
        call.streams =
            may_stream({dy, by_gradient ? at::Tensor() : kept}, grads.x, shape.width, last_cache_bytes_);
        const auto& kernels = activation_kernels<T>();
        if (!sums) {
            return over_rows(
                shape, [&](std::int64_t begin, std::int64_t end) { kernels.backward(call, begin, end); });
        }
        sums->run([&](std::int64_t begin, std::int64_t end, float* of_part) {
            auto part = call;
            part.grad_bias = of_part;
            kernels.backward(part, begin, end);
        });
    });
    if (needs.bias) grads.bias = sums->joined(0, static_cast<at::ScalarType>(saved.integers.at(0)));
    return grads;
}

}  // namespace switchyard
