// From token numbers to the first hidden states.
#pragma once

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/batch.h>
#include "core/kernel/config/config.h"
#include "core/workbench/model/builder.h"
#include "core/workbench/model/forward_context.h"

namespace switchyard::model {

class Embeddings {
public:
    // BERT adds positions and token_type_ids, normalizes and drops; others as their position kind says.
    explicit Embeddings(Builder& builder);

    // [batch, seq, hidden] or [total, hidden]. Throws std::invalid_argument naming the length for a sequence
    // longer than the positions.
    at::Tensor operator()(const ForwardContext& context, const TokenBatch& batch, config::Stack stack) const;

    const at::Tensor& token_table() const { return token_table_; }

private:
    at::Tensor words(const ForwardContext& context, const at::Tensor& ids) const;

    config::ModelConfig model_;
    ParameterCut word_cut_;
    at::Tensor token_table_;  // [vocab, hidden], or of those words that this process has
    at::Tensor positions_;    // [max_positions, hidden], a parameter (learned) or fixed (sinusoidal)
    at::Tensor segments_;     // [segments, hidden], BERT; undefined where there are none
    Norm norm_;               // BERT with post-norm
    Slot<runtime::NormalizationOp> normalize_;
};

}  // namespace switchyard::model
