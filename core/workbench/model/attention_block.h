// Projections, attention, projection back: everything between two normalizations but the normalizations.
// Where ranks have a part of each layer it is of some of the heads, and what it gives is this part's.
//
// Legend:  B batch  N tokens  T total tokens  C hidden_size  H heads  K kv_heads  D head_dim
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/tokens.h>
#include "core/kernel/config/layer_rule.h"
#include "core/workbench/model/builder.h"
#include "core/workbench/model/forward_context.h"
#include "core/workbench/model/positions.h"

namespace switchyard::model {

// What a part of a block adds to the residual stream. The bias has not been added where the next
// normalization will.
struct Delta {
    at::Tensor x;
    at::Tensor bias;
};

// What an attention projects: one tensor three times, or another stack's result for keys and values. Three,
// as recomputation counts uses.
struct AttentionSources {
    at::Tensor query, key, value;  // [B, N, C] or [T, C]
};

// Shared by the layers of a stack.
struct PositionTables {
    Rotary rotary;             // Positions::rotary; in a call its rows for the call's tokens
    at::Tensor slopes;         // Positions::alibi, float32 [H], of the heads that this process makes
    at::Tensor relative_bias;  // Positions::t5, a parameter [buckets, H], likewise
};

class AttentionBlock {
public:
    // `cross`: keys and values come from another stack.
    AttentionBlock(Builder& builder, const config::LayerConfig& layer, const config::LayerId& id, bool cross);

    // `keys`: of key and value, the same as `tokens` for self-attention. `keep_bias`: leave the last
    // projection's bias to the caller.
    Delta operator()(const ForwardContext& context, const PositionTables& tables,
                     const AttentionSources& from, const Tokens& tokens, const Tokens& keys,
                     bool keep_bias) const;
    const at::Tensor& bias() const { return out_.bias; }
    // What keys and values come in.
    DType dtype(Phase phase) const { return attention_.dtype(phase); }

private:
    AttentionRequest request(const Requests& requests, Phase phase, const config::SlotConfig& slot) const;
    // q, k and v of a call: projected, turned to their positions, in attention's dtype. In decoding with a
    // cache k and v are those of all tokens, and of cross-attention none is projected.
    AttentionInputs inputs(const ForwardContext& context, const PositionTables& tables,
                           const AttentionSources& from, Layout layout, const PagedCache*& pages) const;
    // Keys and values of a call that caches them: the call's own, or what the cache then holds.
    void cache(const CachedStep& step, Phase phase, AttentionInputs& inputs, const PagedCache*& pages) const;
    AttentionMask mask(const CachedStep& step) const;
    // T5 leaves the scale to its initialization.
    bool has_own_scale() const { return model_.positions == config::Positions::t5; }
    at::Tensor heads_of(const at::Tensor& projected, std::int64_t heads, Layout layout) const;
    AttentionParams params(const ForwardContext& context, const PositionTables& tables, const at::Tensor& q,
                           const Tokens& queries, const Tokens& keys) const;

    config::ModelConfig model_;  // with the heads that this process makes
    config::LayerId id_;
    bool cross_;
    std::int64_t first_head_ = 0;
    Linear query_, key_, value_, out_;
    Slot<runtime::AttentionOp> attention_;
};

}  // namespace switchyard::model
