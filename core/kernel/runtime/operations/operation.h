// An operation of any of the kinds that a model is made of, as a plan's rows hold them.
#pragma once

#include <memory>
#include <variant>

#include "core/kernel/runtime/operations/activation_op.h"
#include "core/kernel/runtime/operations/attention_op.h"
#include "core/kernel/runtime/operations/loss_op.h"
#include "core/kernel/runtime/operations/normalization_op.h"
#include "core/kernel/runtime/operations/precision_op.h"

namespace switchyard::model {

// std::monostate: none.
using Operation = std::variant<std::monostate, std::shared_ptr<const AttentionOp>,
                               std::shared_ptr<const NormalizationOp>, std::shared_ptr<const ActivationOp>,
                               std::shared_ptr<const LossOp>, std::shared_ptr<const PrecisionOp>>;

}  // namespace switchyard::model
