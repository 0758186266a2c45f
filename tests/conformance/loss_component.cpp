// A right cross-entropy with a backward written by hand - and, with a mutation, one that is wrong in one way.
#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>

#include <switchyard/interfaces/loss.h>
#include <switchyard/reference/numeric.h>

#include "component.h"

namespace switchyard::test {
namespace {

using reference::wide;

class LossSample final : public Loss {
public:
    explicit LossSample(const CreateInfo& info) : Loss(info), mutation_(info) {}
    static Verdict supports(const LossRequest&, const HostInfo&, const Options&) { return {}; }

    LossOutputs forward(const LossInputs& in, const LossParams& params, Saved* saved) override {
        const Rows rows = rows_of(in, params);
        at::Tensor loss = rows.lse - rows.z.gather(1, rows.target.unsqueeze(1)).squeeze(1);
        const double e = params.label_smoothing;
        if (e > 0.0 && !is("ignores_smoothing")) {
            const double classes =
                static_cast<double>(rows.z.size(1)) - (is("smoothing_over_wrong_count") ? 1.0 : 0.0);
            loss = loss * (1.0 - e) + (rows.lse - rows.z.sum(1) / classes) * e;
        }
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
        const Rows rows = rows_of(in, params);
        const at::Tensor p = (rows.z - rows.lse.unsqueeze(1)).exp();
        const at::Tensor one_hot = at::zeros_like(p).scatter(1, rows.target.unsqueeze(1), 1.0);
        const double e = params.label_smoothing;
        at::Tensor dz = p - one_hot * (1.0 - e) - e / static_cast<double>(p.size(1));
        if (params.z_loss > 0.0 && !is("z_loss_without_gradient"))
            dz = dz + p * (rows.lse * (2.0 * params.z_loss)).unsqueeze(1);
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

}  // namespace switchyard::test
