// An operation of any of the kinds that a model is made of, as a plan's rows hold them.
#pragma once

#include <memory>
#include <variant>

#include <switchyard/interfaces/kinds.h>
#include "core/kernel/runtime/operations/activation_op.h"
#include "core/kernel/runtime/operations/attention_op.h"
#include "core/kernel/runtime/operations/linear_op.h"
#include "core/kernel/runtime/operations/loss_op.h"
#include "core/kernel/runtime/operations/normalization_op.h"
#include "core/kernel/runtime/operations/precision_op.h"

namespace switchyard::runtime {

// By kind, for its type alone; void: training calls it, not the model.
AttentionOp operation_of(KindTraits<Kind::attention>);
NormalizationOp operation_of(KindTraits<Kind::normalization>);
ActivationOp operation_of(KindTraits<Kind::activation>);
LossOp operation_of(KindTraits<Kind::loss>);
PrecisionOp operation_of(KindTraits<Kind::precision>);
LinearOp operation_of(KindTraits<Kind::linear>);
void operation_of(KindTraits<Kind::optimizer>);
void operation_of(KindTraits<Kind::data_loader>);

// std::monostate: none.
using Operation =
    std::variant<std::monostate, std::shared_ptr<const AttentionOp>, std::shared_ptr<const NormalizationOp>,
                 std::shared_ptr<const ActivationOp>, std::shared_ptr<const LossOp>,
                 std::shared_ptr<const LinearOp>, std::shared_ptr<const PrecisionOp>>;

}  // namespace switchyard::runtime
