// A right normalization with a backward written by hand - and, with a mutation, one that is wrong in one way.
//
// float32 (float64) throughout; the sum is rounded once, and normalized as rounded.
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include <switchyard/interfaces/normalization.h>
#include <switchyard/reference/dropout_mask.h>
#include <switchyard/reference/numeric.h>

#include "component.h"

namespace switchyard::test {
namespace {

using reference::wide;

class NormalizationSample final : public Normalization {
public:
    explicit NormalizationSample(const CreateInfo& info) : Normalization(info), mutation_(info) {}
    static Verdict supports(const NormalizationRequest&, const HostInfo&, const Options&) { return {}; }

    NormalizationOutputs forward(const NormalizationInputs& in, const NormalizationParams& params,
                                 Saved* saved) override;
    NormalizationGrads backward(const NormalizationParams& params, const Saved& saved,
                                const at::Tensor& grad_y, const at::Tensor& grad_sum,
                                const NormalizationNeeds& needs) override;

private:
    bool is(const char* name) const { return mutation_.is(name); }
    at::Tensor sum_of(const NormalizationInputs& in, const NormalizationParams& params) const;
    at::Tensor keep(const NormalizationParams& params, at::IntArrayRef sizes) const;

    Mutation mutation_;
    at::Tensor last_rstd_, first_bias_;  // used by mutations only
    int calls_ = 0;
};

at::Tensor rows_summed(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}).sum(0); }

at::Tensor NormalizationSample::keep(const NormalizationParams& params, at::IntArrayRef sizes) const {
    Tokens tokens = params.tokens;
    if (is("ignores_first_document")) tokens.first_document = 0;
    if (!is("mask_by_row")) return reference::hidden_keep_mask(params.dropout, tokens, sizes);
    // As if all rows were one sequence.
    std::int64_t rows = 1;
    for (std::size_t d = 0; d + 1 < sizes.size(); ++d) rows *= sizes[d];
    tokens.layout = Layout::padded;
    return reference::hidden_keep_mask(params.dropout, tokens, {1, rows, sizes.back()}).view(sizes);
}

at::Tensor NormalizationSample::sum_of(const NormalizationInputs& in,
                                       const NormalizationParams& params) const {
    at::Tensor sum = wide(in.x);
    if (in.bias.defined() && !is("bias_after_dropout")) sum = sum + wide(in.bias);
    if (params.dropout.active()) {
        sum = sum.masked_fill(keep(params, sum.sizes()).logical_not(), 0.0);
        if (!is("dropout_unscaled")) sum = sum * params.dropout.keep_scale();
    }
    if (in.bias.defined() && is("bias_after_dropout")) sum = sum + wide(in.bias);
    if (in.residual.defined() && !is("ignores_residual")) sum = sum + wide(in.residual);
    return sum.to(in.x.scalar_type());
}

NormalizationOutputs NormalizationSample::forward(const NormalizationInputs& given,
                                                  const NormalizationParams& params, Saved* saved) {
    NormalizationInputs in = given;
    if (is("assumes_dense"))
        in.x = in.x.as_strided(in.x.sizes(), at::zeros_like(in.x).contiguous().strides());
    const bool has_sum = in.bias.defined() || in.residual.defined() || params.dropout.active();
    const at::Tensor sum = has_sum ? sum_of(in, params) : in.x;
    const at::Tensor s = wide(sum);
    const bool layer = params.norm == NormKind::layer_norm && !is("layer_is_rms");
    const at::Tensor mean = s.mean(-1, true);
    const at::Tensor centered = layer ? s - mean : s;
    at::Tensor variance = centered.square().mean(-1, true);
    if (is("one_pass_variance") && layer) variance = s.square().mean(-1, true) - mean.square();
    if (is("unbiased_variance"))
        variance = variance * (static_cast<double>(s.size(-1)) / static_cast<double>(s.size(-1) - 1));
    at::Tensor rstd = (variance + params.eps).rsqrt();
    if (is("eps_outside_root")) rstd = 1.0 / (variance.sqrt() + params.eps);
    if (is("fixed_eps")) rstd = (variance + 1e-5).rsqrt();
    at::Tensor y = centered * rstd * wide(in.weight);
    if (is("low_precision") && in.x.scalar_type() == at::kBFloat16) {
        y = wide((in.x.mul(rstd.to(at::kBFloat16)) - mean.mul(rstd).to(at::kBFloat16))
                     .mul(in.weight.to(at::kBFloat16)));
    }
    if (in.beta.defined() && !is("ignores_beta")) y = y + wide(in.beta);
    ++calls_;
    if (is("nondeterministic")) y = y * (1.0 + 2.4e-7 * calls_);
    if (is("nan_to_num")) y = y.nan_to_num();
    if (is("odd_after_10_calls") && calls_ > 10) y = y * 1.5;
    if (is("reads_before") && given.x.storage_offset() > 0 && given.x.numel() > 0) {
        y = y + given.x.as_strided({1}, {1}, given.x.storage_offset() - 1) * 0.0;
    }
    if (is("writes_sum_into_residual") && in.residual.defined()) in.residual.copy_(sum);
    if (saved != nullptr) {
        saved->input(given.weight);
        saved->extra(rstd);
        if (has_sum)
            saved->output(sum);
        else
            saved->input(given.x);
        saved->extra(layer ? mean : at::zeros_like(mean));
        saved->integers = {given.bias.defined(), given.residual.defined()};
        if (given.bias.defined())
            saved->integers.push_back(given.bias.scalar_type() == given.x.scalar_type());
    }
    last_rstd_ = rstd;
    if (is("keeps_first_bias") && in.bias.defined()) {
        if (!first_bias_.defined()) first_bias_ = in.bias;
        if (!first_bias_.is_same(in.bias)) y = y + 0.1;
    }
    if (!is("not_counted")) executed();
    const at::Tensor result = y.to(in.x.scalar_type());
    if (is("sum_is_residual") && in.residual.defined()) return {result, in.residual};
    if (is("sum_missing")) return {result, at::Tensor()};
    return {result, has_sum ? sum : at::Tensor()};
}

NormalizationGrads NormalizationSample::backward(const NormalizationParams& params, const Saved& saved,
                                                 const at::Tensor& grad_y, const at::Tensor& grad_sum,
                                                 const NormalizationNeeds& needs) {
    const at::Tensor weight = wide(saved[0]), rstd = is("stale_state") ? last_rstd_ : saved[1];
    const bool layer = params.norm == NormKind::layer_norm;
    const at::Tensor normed = (wide(saved[2]) - saved[3]) * rstd, g = wide(grad_y);
    const auto type = saved[2].scalar_type();
    NormalizationGrads grads;
    if (needs.weight) {
        at::Tensor dw = rows_summed(g * normed);
        if (is("gradient_in_storage_dtype")) {
            dw = at::zeros_like(dw).to(type);
            const at::Tensor terms = (g * normed).to(type).reshape({-1, g.size(-1)});
            for (std::int64_t r = 0; r < terms.size(0); ++r) dw = dw + terms[r];
        }
        grads.weight = dw.to(saved[0].scalar_type());
    }
    if (needs.beta) grads.beta = rows_summed(g).to(saved[0].scalar_type());
    at::Tensor dn = g * weight;
    at::Tensor ds = dn - normed * (dn * normed).mean(-1, true);
    if (layer && !is("missing_mean_term")) ds = ds - dn.mean(-1, true);
    ds = ds * rstd;
    if (grad_sum.defined() && !is("ignores_grad_sum")) ds = ds + wide(grad_sum);
    if (needs.residual) grads.residual = ds.to(type);
    if (params.dropout.active() && !is("no_dropout_in_backward")) {
        ds = ds.masked_fill(keep(params, ds.sizes()).logical_not(), 0.0) * params.dropout.keep_scale();
    }
    if (needs.x) grads.x = ds.to(type);
    if (needs.bias)
        grads.bias =
            (is("bias_gradient_first_row") ? ds.reshape({-1, ds.size(-1)})[0] : rows_summed(ds)).to(type);
    return grads;
}

}  // namespace

const LocalComponent normalization_entry =
    local_component<Kind::normalization, NormalizationSample>(GradientMode::kernel, RandomSource::counter);

}  // namespace switchyard::test
