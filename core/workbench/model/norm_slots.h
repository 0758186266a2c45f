// The two forms in which models normalize, as slots.
#pragma once

#include <string>

#include "core/workbench/model/builder.h"

namespace switchyard::model {

struct NormPlace {
    std::string slot;  // "normalization.final"
    std::string layers;
    const config::ModelConfig& model;
    const config::SlotConfig& config;
    std::optional<config::LayerId> layer{};
    bool between_blocks = false;  // of the tokens that this rank has there (token_share.h)
};

// norm(x)
Slot<runtime::NormalizationOp> plain_norm(Builder& builder, const NormPlace& place);
// norm(x) of as many rows as there are labels: none to all.
Slot<runtime::NormalizationOp> head_norm(Builder& builder, const NormPlace& place);
// norm(residual + dropout(x + bias)): the end of one block and the beginning of the next.
Slot<runtime::NormalizationOp> wide_norm(Builder& builder, const NormPlace& place);

}  // namespace switchyard::model
