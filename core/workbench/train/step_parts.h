// What a step does alike whether it is captured into a graph or not.
#pragma once

#include <cstdint>
#include <vector>

#include <switchyard/interfaces/batch.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/optimizer.h>
#include "core/kernel/config/config.h"
#include "core/workbench/train/data_parallel.h"

namespace switchyard::train {

// Of all batches together.
std::int64_t labels_of(const std::vector<Batch>& batches, std::int64_t ignore_index);

// Samples, tokens and work of these batches.
SharedStep amounts_of(const std::vector<Batch>& batches, std::int64_t ignore_index);

// A packed sample may be made of several documents, each a sequence of its own.
std::int64_t sequences_of(const Batch& batch);

// The task's loss as the sum over all labels, of which means over several batches are made.
LossParams summed_loss(const config::Config& config);

// Each batch's loss is a sum, divided by `divisor`.
LossParams step_loss(const config::Config& config, double divisor);

// What backward left in the parameters becomes the groups' gradients.
void collect_gradients(std::vector<ParameterGroup>& groups);

// Frees them, unless somebody else holds them too.
void drop_gradients(std::vector<ParameterGroup>& groups);

}  // namespace switchyard::train
