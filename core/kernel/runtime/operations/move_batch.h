// Batches are made in the host's memory.
#pragma once

#include <c10/core/DeviceType.h>

#include <switchyard/interfaces/data_loader.h>

namespace switchyard::runtime {

// Pinned tensors are copied while the host goes on.
void move_batch(Batch& batch, c10::DeviceType device);

}  // namespace switchyard::runtime
