// A stack of transformer layers, encoder or decoder, pre- or post-norm.
//
// Every normalization is called in its widest form, y = norm(residual + dropout(x + bias)). With post-norm y itself is the residual stream; with pre-norm
// the sum is, and what a block adds waits (Stream::delta) until the next normalization takes it in.
#pragma once

#include <optional>
#include <vector>

#include <switchyard/config/config.h>
#include <switchyard/model/attention_block.h>
#include <switchyard/model/feed_forward.h>

namespace switchyard::model {

class Stack {
public:
    Stack(Builder& builder, const config::Config& config, config::Stack which);

    // Hidden states after the last normalization. `memory` is the encoder's result for a decoder with cross-attention, else undefined.
    at::Tensor operator()(const BoundPlan& plan, const ForwardContext& context, const at::Tensor& embedded,
                          const Tokens& tokens, const at::Tensor& memory = {},
                          const Tokens& memory_tokens = {}) const;

private:
    struct Layer {
        config::LayerId id;
        config::ModelConfig model;
        AttentionBlock attention;
        std::optional<AttentionBlock> cross;
        FeedForward feed_forward;
        Norm attention_norm, cross_norm, feed_forward_norm;
    };
    struct Stream {
        at::Tensor residual;
        Delta delta;                                    // x undefined: nothing waits
        DropoutSite site = DropoutSite::attention_out;  // of what waits, and its layer
        std::int64_t layer = 0;
    };
    struct Call {
        const BoundPlan& plan;
        const ForwardContext& context;
        const Tokens& tokens;
    };

    Layer make_layer(Builder& builder, const config::Config& config, const config::LayerId& id) const;
    // Takes in what waits and normalizes: the block's input with pre-norm, its result with post-norm.
    at::Tensor normalize(const Call& call, const NormalizationOp& op, const config::ModelConfig& model,
                         const Norm& norm, Stream& stream) const;
    at::Tensor layer_norm(const Call& call, const Layer& layer, const Norm& norm, Stream& stream) const;
    bool keeps_bias(const Call& call, const config::LayerId& id) const;

    config::Stack which_;
    config::ModelConfig model_;
    std::vector<Layer> layers_;
    PositionTables tables_;
    Norm final_norm_;  // pre-norm only
};

}  // namespace switchyard::model
