// One self-attention layer of a transformer, its parts being what a plan chose: norms, attention and
// activation through their operations, projections by at::linear.
//
//     post:  y = norm(x + attention(x));  norm(y + feed_forward(y))
//     pre:   y = x + attention(norm(x));  norm(y + feed_forward(norm(y)))      the last norm is the stack's
//
// Biases of the output projections, dropout and residual sums are part of the norms, the bias of the first
// feed-forward projection is part of the activation, as in a whole model. Positions that turn q and k or are
// added to embeddings are left to the caller.
//
// Legend:  B batch  N length  C hidden_size  H heads  K kv heads  D head_dim  F intermediate_size
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/config/config.h>
#include <switchyard/host/calling/plugin_library.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/model/operations/activation_op.h>
#include <switchyard/model/operations/attention_op.h>
#include <switchyard/model/operations/normalization_op.h>
#include <switchyard/resolver/plan.h>

namespace switchyard::model {

class Layer {
public:
    // Parameters are random, from `seed`, the same whatever the backends. Throws what bind.h throws, and
    // std::invalid_argument for a plan without the layer's rows for Phase::train.
    Layer(const config::Config& config, const config::LayerId& id, const resolver::Plan& plan,
          host::Registry& registry, const HostInfo& host, std::uint64_t seed);

    // x_BNC, float32, full rows, at least as long as the configuration's shortest. `step` numbers the dropout
    // masks.
    at::Tensor operator()(const at::Tensor& x_BNC, std::uint64_t step) const;

    struct NamedParameter {
        std::string name;
        at::Tensor value;  // a leaf that requires a gradient
    };
    const std::vector<NamedParameter>& parameters() const { return parameters_; }

    // The operations' bindings: what ran, and how often.
    std::vector<const host::BindingBase*> bindings() const;

private:
    struct Norm {
        at::Tensor weight, beta, bias;
    };
    // A site of the layer for dropout masks.
    enum Site : std::uint32_t { attention_site, attention_out, activation_site, feed_forward_out };

    at::Tensor parameter(const std::string& name, at::IntArrayRef sizes, double scale, double shift = 0.0);
    Norm norm_parameters(const std::string& name, bool wide);
    NormalizationOutputs normalize(const NormalizationOp& norm, const Norm& parameters, const at::Tensor& x,
                                   const at::Tensor& residual, Site site, std::uint64_t step) const;
    at::Tensor attend(const at::Tensor& x_BNC, std::uint64_t step) const;
    at::Tensor feed_forward(const at::Tensor& x_BNC, std::uint64_t step) const;
    Dropout dropout(double p, Site site, std::uint64_t step) const;
    AttentionMask mask(std::int64_t batch, std::int64_t length) const;

    config::ModelConfig model_;
    config::Stack stack_;
    bool pre_;
    std::uint64_t seed_;
    AttentionOp attention_;
    NormalizationOp first_norm_;   // post: after attention; pre: before it
    NormalizationOp second_norm_;  // post: the same as the first; pre: before the feed-forward
    NormalizationOp last_norm_;    // post: after the feed-forward; pre: the stack's
    ActivationOp activation_;
    MaskSet masks_;
    DType compute_;  // of attention, activation and the projections
    Norm first_, second_, last_;
    at::Tensor qkv_weight_, qkv_bias_, out_weight_, up_weight_, up_bias_, down_weight_, relative_bias_;
    std::vector<NamedParameter> parameters_;
};

}  // namespace switchyard::model
