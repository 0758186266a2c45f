// An operation of any of the kinds that a model is made of, as a plan's rows hold them.
#pragma once

#include <memory>
#include <variant>

#include <switchyard/model/operations/activation_op.h>
#include <switchyard/model/operations/attention_op.h>
#include <switchyard/model/operations/loss_op.h>
#include <switchyard/model/operations/normalization_op.h>
#include <switchyard/model/operations/precision_op.h>

namespace switchyard::model {

// std::monostate: none.
using Operation = std::variant<std::monostate, std::shared_ptr<const AttentionOp>,
                               std::shared_ptr<const NormalizationOp>, std::shared_ptr<const ActivationOp>,
                               std::shared_ptr<const LossOp>, std::shared_ptr<const PrecisionOp>>;

}  // namespace switchyard::model
