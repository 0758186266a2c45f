// The kernel of examples/plugins/stable_c as an ordinary plugin: both tiers must give the same bits.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/require.h>
#include <switchyard/interfaces/verdict.h>

#include "norm_kernel.h"

class Twin final : public switchyard::Normalization {
public:
    using Normalization::Normalization;

    static switchyard::Verdict supports(const switchyard::NormalizationRequest& request,
                                        const switchyard::HostInfo&, const switchyard::Options&) {
        switchyard::Verdict verdict;
        REQUIRE(verdict, request.dtype == switchyard::DType::float32, switchyard::Code::DType, "dtype",
                "float32", name(request.dtype));
        return verdict;
    }

    switchyard::NormalizationOutputs forward(const switchyard::NormalizationInputs& in,
                                             const switchyard::NormalizationParams& params,
                                             switchyard::Saved* saved) override {
        executed();
        const at::Tensor x = in.x.contiguous();
        const at::Tensor y = at::empty(x.sizes(), x.options());
        const NormShape shape = shape_of(x, params);
        const at::Tensor statistics = at::empty({shape.rows, 2}, at::kDouble);
        const float* const beta = in.beta.defined() ? in.beta.const_data_ptr<float>() : nullptr;
        at::parallel_for(0, shape.rows, 16, [&](std::int64_t first, std::int64_t last) {
            norm_forward(&shape, x.const_data_ptr<float>(), in.weight.const_data_ptr<float>(), beta,
                         y.mutable_data_ptr<float>(), statistics.mutable_data_ptr<double>(), first, last);
        });
        if (saved != nullptr) saved->input(in.x), saved->input(in.weight), saved->extra(statistics);
        return {y, {}};
    }

    switchyard::NormalizationGrads backward(const switchyard::NormalizationParams& params,
                                            const switchyard::Saved& saved, const at::Tensor& grad_y,
                                            const at::Tensor&,
                                            const switchyard::NormalizationNeeds&) override {
        const at::Tensor x = saved[0].contiguous(), g = grad_y.contiguous();
        const NormShape shape = shape_of(x, params);
        const auto* const statistics = saved[2].const_data_ptr<double>();
        const at::Tensor grad_x = at::empty(x.sizes(), x.options()), grad_weight = at::empty_like(saved[1]),
                         grad_beta = at::empty_like(saved[1]);
        norm_input_gradient(&shape, x.const_data_ptr<float>(), saved[1].const_data_ptr<float>(),
                            g.const_data_ptr<float>(), statistics, grad_x.mutable_data_ptr<float>(), 0,
                            shape.rows);
        norm_row_gradients(&shape, x.const_data_ptr<float>(), g.const_data_ptr<float>(), statistics,
                           grad_weight.mutable_data_ptr<float>(), grad_beta.mutable_data_ptr<float>(), 0,
                           shape.width);
        return {grad_x, {}, {}, grad_weight, grad_beta};
    }

private:
    static NormShape shape_of(const at::Tensor& x, const switchyard::NormalizationParams& params) {
        return {x.numel() / x.size(-1), x.size(-1), params.norm == switchyard::NormKind::layer_norm,
                params.eps};
    }
};
