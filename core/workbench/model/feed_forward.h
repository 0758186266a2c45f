// The feed-forward of a block: projection, activation (gated or not), projection back. Where ranks have a
// part of each layer it is of some of the values between, and what it gives is this part's.
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

    config::ModelConfig model_;  // with the width that this process makes
    config::LayerId id_;
    config::LayerPart part_;
    Linear in_;  // gated: [2 * intermediate, hidden], the gate's half first
    Linear out_;
    Slot<runtime::ActivationOp> activation_;
};

}  // namespace switchyard::model
