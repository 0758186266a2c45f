// A stack of transformer layers, encoder or decoder, pre- or post-norm.
//
// Every normalization is called in its widest form, y = norm(residual + dropout(x + bias)). With post-norm y
// itself is the residual stream; with pre-norm the sum is, and what a block adds waits (Stream::delta) until
// the next normalization takes it in.
//
// Where ranks have a part of each layer, blocks are parts: a stack sums up what they make, and adds the last
// projection's bias once. Between blocks each rank then has all tokens or some (token_share.h).
//
// Where ranks have ranges of layers, a stack runs those of this process alone: it takes in what another has
// made of the layers before them, and hands on the residual stream, into which what waits is taken first.
//
// Layers, or a part of each, may be run again in backward instead of being kept (ForwardContext::recompute);
// the gradients are the same bits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/kernel/runtime/recompute.h"
#include "core/workbench/model/attention_block.h"
#include "core/workbench/model/cache/decoding_cache.h"
#include "core/workbench/model/feed_forward.h"
#include "core/workbench/model/token_share.h"

namespace switchyard::model {

// Of the first layer of a stage, where its stack began in another: as the stack's own first layer has it.
inline constexpr const char* taking_over_slot = "normalization.stage";

class Stack {
public:
    Stack(Builder& builder, config::Stack which);

    // Hidden states after the last normalization, or after this process's last layer. `embedded`: or what
    // taken_in() says. `memory` is the encoder's result for a decoder with
    // cross-attention, else undefined.
    at::Tensor operator()(const ForwardContext& context, const at::Tensor& embedded, const Tokens& tokens,
                          const at::Tensor& memory = {}, const Tokens& memory_tokens = {}) const;

    // Tensors without values: what this process's layers take in of a stage before, undefined where the
    // stack begins here; and what the whole stack makes.
    at::Tensor taken_in(Phase phase, const TokenBatch& batch) const;
    at::Tensor result(Phase phase, const TokenBatch& batch) const;

    // What a cache of its self-attention holds, and one of its cross-attention.
    CacheShape cache_shape(const CacheLimits& limits, bool cross) const;

private:
    struct Layer {
        config::LayerId id;
        config::ModelConfig model;
        AttentionBlock attention;
        std::optional<AttentionBlock> cross;
        FeedForward feed_forward;
        Norm attention_norm, cross_norm, feed_forward_norm;
        // Of all of them; `first_norm` where nothing waits yet: the first of a pre-norm stack,
        // here or in a stage.
        Slot<runtime::NormalizationOp> norm, first_norm;
        // All that each part, and the whole, computes with: what recomputation must know.
        std::vector<at::Tensor> attention_parameters, cross_parameters, feed_forward_parameters, parameters;
    };
    struct Stream {
        at::Tensor residual;
        Delta delta;                                    // x undefined: nothing waits
        DropoutSite site = DropoutSite::attention_out;  // of what waits, and its layer
        std::int64_t layer = 0;
        at::Tensor y;  // the last normalization's result
        at::Tensor memory_key, memory_value;
    };
    // Of one forward pass; recomputation runs parts of it again.
    struct Call {
        ForwardContext context;
        Tokens tokens, memory_tokens;
        PositionTables positions;  // the rotary table's rows for these tokens
        TokenShare share;
    };
    using SharedCall = std::shared_ptr<const Call>;

    PositionTables positions_of(const ForwardContext& context, const Tokens& tokens,
                                const at::Tensor& embedded) const;
    Layer make_layer(Builder& builder, const config::LayerId& id) const;
    // Takes in what waits and normalizes: the block's input with pre-norm, its result with post-norm.
    at::Tensor normalize(const Call& call, const Slot<runtime::NormalizationOp>& slot,
                         const config::ModelConfig& model, const Norm& norm, Stream& stream) const;
    at::Tensor layer_norm(const Call& call, const Layer& layer, const Norm& norm, Stream& stream) const;
    static bool keeps_bias(const Call& call, const Layer& layer);
    // What a part adds, computed now or, where the call says so, now and again in backward.
    Delta attend(const SharedCall& call, const Layer& layer, const AttentionBlock& block, Stream& stream,
                 bool keep_bias) const;
    Delta feed_forward(const SharedCall& call, const Layer& layer, Stream& stream, bool keep_bias) const;
    template <class Compute>
    void block(const Call& call, const Layer& layer, const Norm& norm, DropoutSite site, Stream& stream,
               const Compute& compute) const;
    void run_layer(const SharedCall& call, const Layer& layer, Stream& stream) const;
    void run_layer_twice(const SharedCall& call, const Layer& layer, Stream& stream) const;
    // Backward calls when the gradients of what flows on, between two layers, are there.
    static void hook(Stream& stream, std::function<void()> hook);
    runtime::Segment segment() const;
    at::Tensor handed_on(const Call& call, Stream& stream) const;
    at::Tensor states_of(const TokenBatch& batch, at::ScalarType dtype) const;
    // What the parts of a block make together, with its last bias unless that is kept.
    Delta together(const Call& call, const at::Tensor& x, const at::Tensor& bias, bool keep_bias) const;

    config::Stack which_;
    config::ModelConfig model_;
    config::LayerPart part_;
    bool shares_tokens_;  // with ranks that have the other parts
    LayerRange range_;    // of this process
    Device device_;
    config::CacheConfig cache_;
    std::vector<Layer> layers_;
    PositionTables tables_;
    // pre-norm only
    Norm final_norm_;
    Slot<runtime::NormalizationOp> final_norm_op_;
    std::shared_ptr<const runtime::PrecisionOp> precision_;
};

}  // namespace switchyard::model
