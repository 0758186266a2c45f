// The loss of a model's task, as a slot.
#pragma once

#include "core/workbench/model/builder.h"

namespace switchyard::model {

Slot<runtime::LossOp> loss_slot(Builder& builder);

}  // namespace switchyard::model
