// Right losses with a backward written by hand - and, with a mutation, one that is wrong in one way.
#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>

#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/verdict.h>
#include <switchyard/reference/numeric.h>

#include "component.h"

namespace switchyard::test {
namespace {

using reference::wide;

class LossSample final : public Loss {
public:
    explicit LossSample(const CreateInfo& info) : Loss(info), mutation_(info) {}
    static Verdict supports(const LossRequest& request, const HostInfo&, const Options& options) {
        Verdict verdict;
        if (options.string("mutation") == "refuses_float64" && request.dtype == DType::float64)
            verdict.reject(Code::DType, "dtype", "float32", "float64");
        return verdict;
    }

    LossOutputs forward(const LossInputs& in, const LossParams& params, Saved* saved) override {
        if (in.targets.is_floating_point()) return forward_values(in, params, saved);
        const Rows rows = rows_of(in, params);
        at::Tensor loss = rows.lse - rows.z.gather(1, rows.target.unsqueeze(1)).squeeze(1);
        const double e = params.label_smoothing;
        if (e > 0.0 && !is("ignores_smoothing")) {
            const double classes =
                static_cast<double>(rows.z.size(1)) - (is("smoothing_over_wrong_count") ? 1.0 : 0.0);
            loss = loss * (1.0 - e) + (rows.lse - rows.z.sum(1) / classes) * e;
        }
        if (is("depends_on_rows")) loss = loss + 0.01 * rows.lse.mean();
        if (is("another_in_float64") && loss.scalar_type() == at::kDouble) loss = loss * 1.01;
        if (is("narrow") && loss.scalar_type() == at::kFloat) loss = loss.to(at::kBFloat16).to(at::kFloat);
        if (params.z_loss > 0.0 && !is("ignores_z_loss")) loss = loss + rows.lse.square() * params.z_loss;
        loss = loss.masked_fill(rows.ignored, 0.0);
        if (is("nan_to_num")) loss = loss.nan_to_num();
        if (is("odd_after_10_calls") && ++calls_ > 10) loss = loss * 1.5;
        if (saved != nullptr) {
            for (const at::Tensor& tensor : {in.x, in.weight, in.bias, in.targets}) saved->input(tensor);
        }
        executed();
        const at::Tensor count =
            at::scalar_tensor(rows.count + (is("wrong_count") ? 1 : 0), in.targets.options());
        if (params.reduction == Reduction::none) return {loss, count};
        return {loss.sum() * factor(params, rows), count};
    }

    LossGrads backward(const LossParams& params, const Saved& saved, const at::Tensor& grad_loss,
                       const LossNeeds& needs) override {
        const LossInputs in{saved[0], saved[1], saved[2], saved[3]};
        if (in.targets.is_floating_point()) return backward_values(in, params, grad_loss);
        const Rows rows = rows_of(in, params);
        const at::Tensor p = (rows.z - rows.lse.unsqueeze(1)).exp();
        const at::Tensor one_hot = at::zeros_like(p).scatter(1, rows.target.unsqueeze(1), 1.0);
        const double e = params.label_smoothing;
        at::Tensor dz = p - one_hot * (1.0 - e) - e / static_cast<double>(p.size(1));
        if (params.z_loss > 0.0 && !is("z_loss_without_gradient"))
            dz = dz + p * (rows.lse * (2.0 * params.z_loss)).unsqueeze(1);
        if (is("slope_off")) dz = dz * 1.01;
        if (is("slope_off_for_last_class")) dz.select(1, -1).mul_(1.01);
        at::Tensor scale = grad_loss.to(dz.scalar_type());
        if (is("ignores_grad_loss")) scale = scale * 0.0 + 1.0;
        if (params.reduction != Reduction::none) scale = (scale * factor(params, rows)).expand({dz.size(0)});
        if (!is("ignored_rows_have_gradient")) scale = scale.masked_fill(rows.ignored, 0.0);
        dz = dz * scale.unsqueeze(1);
        LossGrads grads;
        if (!in.weight.defined()) {
            if (needs.x) grads.x = dz.to(in.x.scalar_type());
            return grads;
        }
        if (needs.x) grads.x = dz.matmul(wide(in.weight)).to(in.x.scalar_type());
        if (needs.weight) grads.weight = dz.t().matmul(rows.x).to(in.weight.scalar_type());
        if (is("weight_gradient_missing") && needs.weight) grads.weight = at::zeros_like(in.weight);
        if (needs.bias) grads.bias = dz.sum(0).to(in.bias.scalar_type());
        return grads;
    }

private:
    // What has a target, and 0 for both where there is none.
    struct Values {
        at::Tensor x, y, left_out;
        std::int64_t count;
    };
    Values values_of(const LossInputs& in) const {
        Values values;
        values.left_out = in.targets.isnan();
        values.count = in.targets.numel() - values.left_out.sum().item<std::int64_t>();
        values.x = wide(in.x);
        if (!is("reads_values_without_target")) values.x = values.x.masked_fill(values.left_out, 0.0);
        values.y = in.targets.masked_fill(values.left_out, is("missing_target_is_1") ? 1.0 : 0.0);
        return values;
    }
    double factor_of_values(const LossParams& params, const Values& values) const {
        if (params.reduction == Reduction::none) return 1.0;
        const auto count = is("mean_over_rows")         ? values.x.size(0)
                           : is("mean_over_all_values") ? values.x.numel()
                                                        : values.count;
        if (params.reduction == Reduction::mean)
            return 1.0 / static_cast<double>(std::max<std::int64_t>(count, 1));
        return params.divisor > 0.0 && !is("ignores_divisor") ? 1.0 / params.divisor : 1.0;
    }
    bool squared(const LossParams& params) const {
        return params.loss != LossKind::binary_cross_entropy || is("always_squared");
    }

    LossOutputs forward_values(const LossInputs& in, const LossParams& params, Saved* saved) const {
        const Values v = values_of(in);
        at::Tensor each;
        if (squared(params)) {
            each = (v.x - v.y).square();
        } else if (is("unstable_logarithm")) {
            each = (1.0 + v.x.exp()).log() - v.x * v.y;
        } else {
            each = v.x.clamp_min(0.0) - v.x * v.y + v.x.abs().neg().exp().log1p();
        }
        if (!is("missing_target_is_1")) each = each.masked_fill(v.left_out, 0.0);
        if (is("values_nan_to_num")) each = each.nan_to_num();
        if (saved != nullptr) {
            for (const at::Tensor& tensor : {in.x, in.weight, in.bias, in.targets}) saved->input(tensor);
        }
        executed();
        const at::Tensor count = at::scalar_tensor(is("counts_rows") ? in.x.size(0) : v.count,
                                                   in.targets.options().dtype(at::kLong));
        if (params.reduction == Reduction::none)
            return {is("mean_of_row") ? each.mean(1) : each.sum(1), count};
        return {each.sum() * factor_of_values(params, v), count};
    }

    LossGrads backward_values(const LossInputs& in, const LossParams& params,
                              const at::Tensor& grad_loss) const {
        const Values v = values_of(in);
        const double slope = is("half_slope") ? 1.0 : 2.0;
        const at::Tensor each = squared(params) ? (v.x - v.y) * slope : v.x.sigmoid() - v.y;
        at::Tensor scale = grad_loss.to(each.scalar_type()) * factor_of_values(params, v);
        if (params.reduction == Reduction::none) scale = scale.unsqueeze(1);
        at::Tensor dx = each * scale;
        if (!is("reads_values_without_target")) dx = dx.masked_fill(v.left_out, 0.0);
        return {dx.to(in.x.scalar_type()), {}, {}};
    }

    struct Rows {
        at::Tensor x, z, lse, target, ignored;  // x and target are 0 where a row is ignored, z: logits
        std::int64_t count;
    };
    bool is(const char* name) const { return mutation_.is(name); }

    Rows rows_of(const LossInputs& in, const LossParams& params) const {
        Rows rows;
        const std::int64_t ignore = is("fixed_ignore_index") ? -100 : params.ignore_index;
        rows.ignored = in.targets.eq(ignore);
        rows.count = in.targets.numel() - rows.ignored.sum().item<std::int64_t>();
        rows.target = in.targets.masked_fill(rows.ignored, 0);
        if (is("ignores_ignore_index")) rows.ignored = at::zeros_like(rows.ignored);
        rows.x = wide(in.x);
        if (!is("reads_ignored_rows")) rows.x = rows.x.masked_fill(rows.ignored.unsqueeze(1), 0.0);
        rows.z = rows.x;
        if (in.weight.defined()) rows.z = rows.z.matmul(wide(in.weight).t());
        if (in.bias.defined() && !is("ignores_bias")) rows.z = rows.z + wide(in.bias);
        rows.lse = is("no_maximum") ? rows.z.exp().sum(1).log() : rows.z.logsumexp(1);
        return rows;
    }
    double factor(const LossParams& params, const Rows& rows) const {
        if (params.reduction == Reduction::mean) {
            const std::int64_t count = is("mean_over_all_rows") ? rows.target.numel() : rows.count;
            return is("no_row_is_nan") && count == 0
                       ? 0.0 / 0.0
                       : 1.0 / static_cast<double>(std::max<std::int64_t>(count, 1));
        }
        return params.divisor > 0.0 && !is("ignores_divisor") ? 1.0 / params.divisor : 1.0;
    }

    Mutation mutation_;
    int calls_ = 0;  // used by a mutation only
};

}  // namespace

const LocalComponent loss_entry =
    local_component<Kind::loss, LossSample>(GradientMode::kernel, RandomSource::none);
const LocalComponent own_loss_entry = with_formula_of_its_own(loss_entry);

}  // namespace switchyard::test
