#include "bert_step.h"

#include <algorithm>
#include <optional>
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

namespace peer {
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

BertStep::BertStep(const Model& model, const AdamW& optimizer, Tensors values, bool autocast)
    : model_(model), optimizer_(optimizer), p_(std::move(values)), groups_(2), autocast_(autocast) {
    groups_[0].weight_decay = optimizer.weight_decay;
    for (auto& [name, value] : p_) {
        value.set_requires_grad(true);
        auto& group = groups_[value.dim() >= 2 ? 0 : 1];
        group.values.push_back(value);
        group.first.push_back(at::zeros_like(value).requires_grad_(false));
        group.second.push_back(at::zeros_like(value).requires_grad_(false));
        group.steps.push_back(at::zeros({}, at::kFloat));
    }
}

at::Tensor BertStep::linear(const std::string& name, const at::Tensor& x) const {
    return at::linear(x, p_.at(name + ".weight"), p_.at(name + ".bias"));
}

at::Tensor BertStep::norm(const std::string& name, const at::Tensor& x) const {
    return at::layer_norm(x, {model_.hidden}, p_.at(name + ".weight"), p_.at(name + ".bias"),
                          model_.norm_eps);
}

at::Tensor BertStep::drop(const at::Tensor& x) const { return at::dropout(x, model_.dropout, dropout_on_); }

at::Tensor BertStep::attend(const std::string& name, const at::Tensor& x_BNC, const at::Tensor& mask) const {
    const auto heads = [&](const char* part) {
        return linear(name + ".self." + part, x_BNC)
            .view({x_BNC.size(0), x_BNC.size(1), model_.heads, -1})
            .transpose(1, 2);
    };
    const auto out = at::scaled_dot_product_attention(heads("query"), heads("key"), heads("value"), mask,
                                                      dropout_on_ ? model_.attention_dropout : 0.0);
    return linear(name + ".output.dense", out.transpose(1, 2).reshape(x_BNC.sizes()));
}

at::Tensor BertStep::logits(const MicroBatch& batch) const {
    const Autocast autocast(autocast_);
    const std::string base = "bert.embeddings.";
    const auto mask = batch.attention_mask.to(at::kBool).unsqueeze(1).unsqueeze(1);
    const auto& types = p_.at(base + "token_type_embeddings.weight");
    auto x =
        at::embedding(p_.at(base + "word_embeddings.weight"), batch.ids) +
        at::embedding(p_.at(base + "position_embeddings.weight"), at::arange(batch.ids.size(1), at::kLong));
    x = x +
        (batch.token_type_ids.defined() ? at::embedding(types, batch.token_type_ids) : types.select(0, 0));
    x = drop(norm(base + "LayerNorm", x));
    for (std::int64_t i = 0; i < model_.layers; ++i) {
        const auto layer = "bert.encoder.layer." + std::to_string(i) + ".";
        x = norm(layer + "attention.output.LayerNorm", x + drop(attend(layer + "attention", x, mask)));
        const auto inner = at::gelu(linear(layer + "intermediate.dense", x));
        x = norm(layer + "output.LayerNorm", x + drop(linear(layer + "output.dense", inner)));
    }
    const auto pooled = linear("bert.pooler.dense", x.select(1, 0)).tanh();
    return linear("classifier", drop(pooled)).to(at::kFloat);
}

double BertStep::accumulate(const StepBatches& batches, at::Tensor* first_logits) {
    double count = 0.0, mean = 0.0;
    for (const auto& batch : batches) count += batch.labels.ne(model_.ignore_index).sum().item<double>();
    for (const auto& batch : batches) {
        const auto rows = logits(batch);
        if (first_logits != nullptr && !first_logits->defined())
            *first_logits = rows.index({batch.labels.reshape({-1}).ne(model_.ignore_index)});
        const auto loss = at::cross_entropy_loss(rows, batch.labels.reshape({-1}), {}, at::Reduction::Sum,
                                                 model_.ignore_index, model_.label_smoothing) /
                          std::max(1.0, count);
        mean += loss.item<double>();
        loss.backward();
    }
    return mean;
}

// As torch.nn.utils.clip_grad_norm_ and torch.optim.AdamW(fused=True).
void BertStep::update(double lr) {
    const at::NoGradGuard no_grad;
    std::vector<std::vector<at::Tensor>> gradients(groups_.size());
    std::vector<at::Tensor> norms;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        for (const auto& value : groups_[g].values) gradients[g].push_back(value.grad());
        for (auto& norm : at::_foreach_norm(gradients[g], 2)) norms.push_back(std::move(norm));
    }
    const auto total = at::linalg_vector_norm(at::stack(norms), 2);
    const auto factor = (optimizer_.max_grad_norm / (total + 1e-6)).clamp_max(1.0);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        auto& group = groups_[g];
        if (optimizer_.max_grad_norm > 0.0) at::_foreach_mul_(gradients[g], factor);
        for (auto& step : group.steps) step.add_(1.0);
        at::_fused_adamw_(group.values, gradients[g], group.first, group.second, {}, group.steps, lr,
                          optimizer_.beta1, optimizer_.beta2, group.weight_decay, optimizer_.eps, false,
                          false);
        for (auto& value : group.values) value.mutable_grad().reset();
    }
}

double BertStep::step(const StepBatches& batches, double factor) {
    const double mean = accumulate(batches, nullptr);
    update(optimizer_.lr * factor);
    return mean;
}

double BertStep::first(const StepBatches& batches, Tensors& found) {
    dropout_on_ = false;
    const double mean = accumulate(batches, &found["logits"]);
    dropout_on_ = true;
    for (auto& [name, value] : p_) {
        found["gradient." + name] = value.grad();
        value.mutable_grad().reset();
    }
    return mean;
}

}  // namespace peer
