// The feed-forward of a block: projection, activation (gated or not), projection back.
#pragma once

#include "core/workbench/model/attention_block.h"

namespace switchyard::model {

class FeedForward {
public:
    FeedForward(Builder& builder, const config::LayerConfig& layer, const config::LayerId& id);

    Delta operator()(const ForwardContext& context, const at::Tensor& x, const Tokens& tokens,
                     bool keep_bias) const;
    const at::Tensor& bias() const { return out_.bias; }

private:
    bool drops_inside() const;

    config::ModelConfig model_;
    config::LayerId id_;
    Linear in_;  // gated: [2 * intermediate, hidden], the gate's half first
    Linear out_;
    Slot<runtime::ActivationOp> activation_;
};

}  // namespace switchyard::model
