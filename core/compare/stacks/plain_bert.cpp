#include <switchyard/compare/stacks/plain_bert.h>

#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace switchyard::compare {
namespace {

class Autocast {
public:
    explicit Autocast(bool on) : before_(at::autocast::is_autocast_enabled(at::kCPU)) {
        at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
        at::autocast::set_autocast_enabled(at::kCPU, on);
    }
    ~Autocast() {
        at::autocast::set_autocast_enabled(at::kCPU, before_);
        at::autocast::clear_cache();
    }
    Autocast(const Autocast&) = delete;
    Autocast& operator=(const Autocast&) = delete;

private:
    bool before_;
};

}  // namespace

std::string PlainBert::unsupported(const config::Config& config) {
    const auto& m = config.model;
    const bool bert = m.type == config::ModelType::bert && m.norm_position == config::NormPosition::post &&
                      m.positions == config::Positions::learned && m.norm == NormKind::layer_norm &&
                      m.activation == ActivationKind::gelu_erf && m.heads == m.kv_heads && m.window == 0 &&
                      m.soft_cap == 0.0 && config.layers.empty();
    if (!bert || config.task.kind != config::TaskKind::classification)
        return "the plain step is written for BERT with learned positions, post-norm and GELU, on "
               "classification";
    if (config.optimizer.algorithm != OptimizerKind::adamw) return "the plain step is written for AdamW";
    if (config.batch.layout != Layout::padded) return "the plain step is written for padded batches";
    if (config.run.device != Device::cpu) return "the plain step is written for the CPU";
    return "";
}

PlainBert::PlainBert(const config::Config& config, const model::Parameters& parameters, bool autocast)
    : config_(config), groups_(2), autocast_(autocast) {
    groups_[0].weight_decay = config.optimizer.weight_decay;
    for (const auto& parameter : parameters.all()) {
        const auto value = parameter.value.detach().clone().requires_grad_(true);
        p_[parameter.name] = value;
        order_.push_back(value);
        auto& group = groups_[parameter.decay ? 0 : 1];
        group.values.push_back(value);
        group.first.push_back(at::zeros_like(value).requires_grad_(false));
        group.second.push_back(at::zeros_like(value).requires_grad_(false));
        group.steps.push_back(at::zeros({}, at::kFloat));
    }
}

at::Tensor PlainBert::linear(const std::string& name, const at::Tensor& x) const {
    return at::linear(x, p_.at(name + ".weight"), p_.at(name + ".bias"));
}

at::Tensor PlainBert::norm(const std::string& name, const at::Tensor& x) const {
    return at::layer_norm(x, {config_.model.hidden_size}, p_.at(name + ".weight"), p_.at(name + ".bias"),
                          config_.model.norm_eps);
}

at::Tensor PlainBert::drop(const at::Tensor& x, double p) const { return at::dropout(x, p, dropout_on_); }

at::Tensor PlainBert::attend(const std::string& name, const at::Tensor& x_BNC, const at::Tensor& mask) const {
    const auto& m = config_.model;
    const auto heads = [&](const char* part) {
        return linear(name + part, x_BNC)
            .view({x_BNC.size(0), x_BNC.size(1), m.heads, m.head_dim})
            .transpose(1, 2);
    };
    const auto mask_or_none = mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt;
    const auto out = at::scaled_dot_product_attention(heads(".q"), heads(".k"), heads(".v"), mask_or_none,
                                                      dropout_on_ ? m.attention_dropout : 0.0);
    return linear(name + ".out", out.transpose(1, 2).reshape(x_BNC.sizes()));
}

at::Tensor PlainBert::loss(const Batch& batch) const {
    const auto& m = config_.model;
    const auto& ids = batch.source.ids;
    const auto at_ = at::arange(ids.size(1), at::kLong);
    at::Tensor mask;
    if (batch.source.tokens.lengths.defined()) {
        mask = at_.unsqueeze(0).lt(batch.source.tokens.lengths.unsqueeze(1)).unsqueeze(1).unsqueeze(1);
    }
    auto x = at::embedding(p_.at("embeddings.word"), ids) + at::embedding(p_.at("embeddings.position"), at_);
    const auto& segments = p_.at("embeddings.segment");
    x = x + (batch.source.segments.defined() ? at::embedding(segments, batch.source.segments)
                                             : segments.select(0, 0));
    x = drop(norm("embeddings.norm", x), m.dropout);
    for (std::int64_t i = 0; i < m.layers; ++i) {
        const auto layer = "encoder." + std::to_string(i);
        x = norm(layer + ".attention.norm", x + drop(attend(layer + ".attention", x, mask), m.dropout));
        const auto inner = at::gelu(linear(layer + ".feed_forward.in", x));
        x = norm(layer + ".feed_forward.norm",
                 x + drop(linear(layer + ".feed_forward.out", inner), m.dropout));
    }
    const auto pooled = linear("pooler", x.select(1, 0)).tanh();
    const auto logits = linear("classifier", drop(pooled, m.dropout));
    return at::cross_entropy_loss(logits.to(at::kFloat), batch.labels.reshape({-1}), {}, at::Reduction::Mean,
                                  config_.loss.ignore_index, config_.loss.label_smoothing);
}

at::Tensor PlainBert::guarded_loss(const Batch& batch) const {
    const Autocast autocast(autocast_);
    return loss(batch);
}

// As torch.nn.utils.clip_grad_norm_ and torch.optim.AdamW(fused=True).
void PlainBert::update() {
    const at::NoGradGuard no_grad;
    const auto& optimizer = config_.optimizer;
    std::vector<std::vector<at::Tensor>> gradients(groups_.size());
    std::vector<at::Tensor> norms;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        for (const auto& value : groups_[g].values) gradients[g].push_back(value.grad());
        for (auto& norm : at::_foreach_norm(gradients[g], 2)) norms.push_back(std::move(norm));
    }
    const auto total = at::linalg_vector_norm(at::stack(norms), 2);
    const auto factor = (optimizer.max_grad_norm / (total + 1e-6)).clamp_max(1.0);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        auto& group = groups_[g];
        if (optimizer.max_grad_norm > 0.0) at::_foreach_mul_(gradients[g], factor);
        for (auto& step : group.steps) step.add_(1.0);
        at::_fused_adamw_(group.values, gradients[g], group.first, group.second, {}, group.steps,
                          optimizer.lr, optimizer.betas[0], optimizer.betas[1], group.weight_decay,
                          optimizer.eps, false, false);
        for (auto& value : group.values) value.mutable_grad().reset();
    }
}

double PlainBert::step(const Batch& batch) {
    const auto result = guarded_loss(batch);
    const double mean = result.item<double>();
    result.backward();
    update();
    return mean;
}

std::pair<double, std::vector<at::Tensor>> PlainBert::gradients(const Batch& batch) {
    dropout_on_ = false;
    const auto result = guarded_loss(batch);
    result.backward();
    dropout_on_ = true;
    std::vector<at::Tensor> found;
    for (auto& value : order_) {
        found.push_back(value.grad());
        value.mutable_grad().reset();
    }
    return {result.item<double>(), found};
}

}  // namespace switchyard::compare
