#include <switchyard/model/layer.h>

#include <cmath>
#include <stdexcept>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/model/operations/bind.h>

namespace switchyard::model {
namespace {

const resolver::PlanRow& row_of(const resolver::Plan& plan, std::string_view slot,
                                const config::LayerId* id) {
    const auto* row = plan.find(slot, Phase::train, id);
    if (row != nullptr && row->chosen) return *row;
    throw std::invalid_argument("the plan has nothing for " + std::string(slot) +
                                (id == nullptr ? "" : " of " + config::to_string(*id)) + " in training" +
                                (row == nullptr || row->error.empty() ? "" : ": " + row->error));
}

// The row of a whole stack ("normalization.final"), which stands for no layer.
const resolver::PlanRow& stack_row(const resolver::Plan& plan, std::string_view slot, config::Stack stack) {
    for (const auto& row : plan.rows) {
        if (row.use.slot == slot && row.use.phase == Phase::train && row.use.layers == name(stack) &&
            row.chosen)
            return row;
    }
    throw std::invalid_argument("the plan has nothing for " + std::string(slot) + " of the " +
                                std::string(name(stack)) + " in training");
}

bool is_pre(const config::LayerConfig& layer) {
    return layer.model.norm_position == config::NormPosition::pre;
}

}  // namespace

Layer::Layer(const config::Config& config, const config::LayerId& id, const resolver::Plan& plan,
             host::Registry& registry, const HostInfo& host, std::uint64_t seed)
    : model_(config.layer(id).model),
      stack_(id.stack),
      pre_(is_pre(config.layer(id))),
      seed_(seed),
      attention_(bind<AttentionOp>(row_of(plan, "attention", &id), registry, host)),
      first_norm_(bind<NormalizationOp>(
          row_of(plan, pre_ && id.index == 0 ? "normalization.first" : "normalization", &id), registry,
          host)),
      second_norm_(bind<NormalizationOp>(row_of(plan, "normalization", &id), registry, host)),
      last_norm_(bind<NormalizationOp>(
          pre_ ? stack_row(plan, "normalization.final", id.stack) : row_of(plan, "normalization", &id),
          registry, host)),
      activation_(bind<ActivationOp>(row_of(plan, "activation", &id), registry, host)),
      masks_(static_cast<const AttentionRequest&>(attention_.binding().request()).masks),
      compute_(attention_.binding().request().dtype) {
    const auto C = model_.hidden_size, H = model_.heads, K = model_.kv_heads, D = model_.head_dim,
               F = model_.intermediate_size;
    const auto up = is_gated(model_.activation) ? 2 * F : F;
    const double scale = 1.0 / std::sqrt(static_cast<double>(C));
    if (pre_ && id.index != 0)
        throw std::invalid_argument("a pre-norm layer alone is the first of its stack");
    qkv_weight_ = parameter("attention.qkv.weight", {(H + 2 * K) * D, C}, scale);
    out_weight_ = parameter("attention.out.weight", {C, H * D}, scale);
    up_weight_ = parameter("feed_forward.up.weight", {up, C}, scale);
    down_weight_ = parameter("feed_forward.down.weight", {C, F}, 1.0 / std::sqrt(static_cast<double>(F)));
    if (model_.bias) qkv_bias_ = parameter("attention.qkv.bias", {(H + 2 * K) * D}, 0.02);
    if (model_.bias) up_bias_ = parameter("feed_forward.up.bias", {up}, 0.02);
    if (masks_.has(MaskKind::relative_bias))
        relative_bias_ = parameter("attention.relative_bias", {32, H}, 0.1);
    first_ = norm_parameters("norm1", !pre_);
    if (pre_) second_ = norm_parameters("norm2", true);
    last_ = norm_parameters("norm3", true);
}

at::Tensor Layer::parameter(const std::string& name, at::IntArrayRef sizes, double scale, double shift) {
    const auto stream = static_cast<std::uint32_t>(parameters_.size());
    const auto generator = at::detail::createCPUGenerator(site_seed(seed_, 0, stream));
    auto value =
        at::randn(sizes, generator, at::dtype(at::kFloat)).mul_(scale).add_(shift).requires_grad_(true);
    parameters_.push_back({name, value});
    return value;
}

Layer::Norm Layer::norm_parameters(const std::string& name, bool wide) {
    Norm norm;
    norm.weight = parameter(name + ".weight", {model_.hidden_size}, 0.02, 1.0);
    if (model_.norm == NormKind::layer_norm && model_.bias)
        norm.beta = parameter(name + ".bias", {model_.hidden_size}, 0.02);
    if (wide && model_.bias) norm.bias = parameter(name + ".input_bias", {model_.hidden_size}, 0.02);
    return norm;
}

Dropout Layer::dropout(double p, Site site, std::uint64_t step) const {
    return {p, site_seed(seed_, step, site)};
}

NormalizationOutputs Layer::normalize(const NormalizationOp& norm, const Norm& parameters,
                                      const at::Tensor& x, const at::Tensor& residual, Site site,
                                      std::uint64_t step) const {
    const auto dtype = to_scalar_type(norm.binding().request().dtype);
    const bool wide = residual.defined();
    const auto cast = [dtype](const at::Tensor& tensor) {
        return tensor.defined() ? tensor.to(dtype) : tensor;
    };
    NormalizationParams params{
        model_.norm, model_.norm_eps, dropout(wide ? model_.dropout : 0.0, site, step), {}};
    return norm({cast(x), wide ? cast(parameters.bias) : at::Tensor(), cast(residual), parameters.weight,
                 parameters.beta},
                params);
}

AttentionMask Layer::mask(std::int64_t batch, std::int64_t length) const {
    AttentionMask mask;
    mask.kinds = masks_;
    if (masks_.has(MaskKind::key_lengths)) mask.key_lengths = at::full({batch}, length, at::kInt);
    if (masks_.has(MaskKind::prefix)) mask.prefix_lengths = at::full({batch}, model_.prefix, at::kInt);
    if (masks_.has(MaskKind::alibi)) {
        const auto heads = at::arange(1, model_.heads + 1, at::dtype(at::kFloat));
        mask.alibi_slopes = heads.mul(-8.0 / static_cast<double>(model_.heads)).exp2();
    }
    const bool causal = config::ModelConfig::causal(stack_);
    if (model_.window > 0) {
        mask.window_left = model_.window - 1;
        mask.window_right = causal ? 0 : model_.window - 1;
    }
    mask.soft_cap = model_.soft_cap;
    mask.relative_bidirectional = !causal;
    return mask;
}

at::Tensor Layer::attend(const at::Tensor& x_BNC, std::uint64_t step) const {
    const auto B = x_BNC.size(0), N = x_BNC.size(1), H = model_.heads, K = model_.kv_heads,
               D = model_.head_dim;
    const auto dtype = to_scalar_type(compute_);
    const auto cast = [dtype](const at::Tensor& tensor) {
        return tensor.defined() ? tensor.to(dtype) : tensor;
    };
    const auto qkv = at::linear(cast(x_BNC), cast(qkv_weight_), cast(qkv_bias_))
                         .view({B, N, H + 2 * K, D})
                         .transpose(1, 2);
    AttentionParams params;
    params.mask = mask(B, N);
    params.dropout = dropout(model_.attention_dropout, attention_site, step);
    const AttentionInputs inputs{
        qkv.narrow(1, 0, H), qkv.narrow(1, H, K), qkv.narrow(1, H + K, K), relative_bias_, {}};
    const auto out_BNC = attention_(inputs, params).out.transpose(1, 2).reshape({B, N, H * D});
    return at::linear(out_BNC, cast(out_weight_));
}

at::Tensor Layer::feed_forward(const at::Tensor& x_BNC, std::uint64_t step) const {
    const auto dtype = to_scalar_type(compute_);
    const auto cast = [dtype](const at::Tensor& tensor) {
        return tensor.defined() ? tensor.to(dtype) : tensor;
    };
    const auto& request = static_cast<const ActivationRequest&>(activation_.binding().request());
    const auto inner = at::linear(cast(x_BNC), cast(up_weight_)).to(to_scalar_type(request.dtype));
    const auto active = activation_({inner, cast(up_bias_)},
                                    {model_.activation, dropout(request.dropout, activation_site, step), {}});
    return at::linear(cast(active), cast(down_weight_));
}

at::Tensor Layer::operator()(const at::Tensor& x_BNC, std::uint64_t step) const {
    if (!pre_) {
        const auto y = normalize(first_norm_, first_, attend(x_BNC, step), x_BNC, attention_out, step).y;
        return normalize(last_norm_, last_, feed_forward(y, step), y, feed_forward_out, step).y;
    }
    const auto normed = normalize(first_norm_, first_, x_BNC, {}, attention_out, step).y;
    const auto middle = normalize(second_norm_, second_, attend(normed, step), x_BNC, attention_out, step);
    return normalize(last_norm_, last_, feed_forward(middle.y, step), middle.sum, feed_forward_out, step).y;
}

std::vector<const host::BindingBase*> Layer::bindings() const {
    std::vector<const host::BindingBase*> list{&attention_.binding(), &first_norm_.binding()};
    if (pre_) list.push_back(&second_norm_.binding());
    list.push_back(&last_norm_.binding());
    list.push_back(&activation_.binding());
    return list;
}

}  // namespace switchyard::model
