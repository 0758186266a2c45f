// A whole training step - forward, backward, optimizer - as graphs replay it.
//
// The same step as the trainer's, but that all that changes from one to the next stands in tensors: the
// batches, the number of labels, the learning rate's factor. So the loss is divided by a tensor where the
// trainer hands a number over: results agree to rounding, and to the bit where the number of labels is a
// power of two and the factor is 1. Gradients stay allocated from one step to the next.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/optimizer.h>
#include "core/kernel/config/config.h"
#include "core/kernel/runtime/operations/optimizer_op.h"
#include "core/workbench/model/bound_plan.h"
#include "core/workbench/model/model.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/train/graph/step_graphs.h"

namespace switchyard::train {

// Why the steps of a job cannot be captured, where the configuration alone does not tell: a line for each
// reason, with the component and what to do; empty: nothing speaks against it.
std::vector<std::string> capture_refusals(const model::BoundPlan& plan,
                                          const runtime::OptimizerOp& optimizer);

class GraphedStep {
public:
    struct Parts {
        const config::Config& config;
        const model::BoundPlan& plan;
        const model::Model& model;
        const model::Parameters& parameters;
        const runtime::OptimizerOp& optimizer;
        std::vector<ParameterGroup> groups;  // with the learning rates that the factor is applied to
    };
    struct Result {
        double loss = 0.0;
        double grad_norm = -1.0;  // < 0: not measured
        bool skipped = false;
    };

    // All that `parts` refers to outlives it, and so does `maker`.
    GraphedStep(Parts parts, device_graph::GraphMaker& maker);
    GraphedStep(const GraphedStep&) = delete;
    GraphedStep& operator=(const GraphedStep&) = delete;

    // `labels`: of all batches together.
    Result run(std::vector<Batch>& batches, std::int64_t labels, double lr_factor);
    // What optimizers hold, or the gradients, will be other tensors.
    void forget() { graphs_.forget(); }
    bool captured() const { return graphs_.buckets() > 0; }  // or about to be
    const device_graph::GraphCounts& counts() const { return graphs_.counts(); }

private:
    void body(std::vector<Batch>& batches);
    void forward_backward(std::vector<Batch>& batches);
    void optimizer_step();

    Parts parts_;
    LossParams loss_params_;
    model::ForwardContext context_;
    at::Tensor loss_, labels_, lr_factor_, grad_norm_, found_inf_;  // float32 scalars on the device
    bool measures_norm_ = false, finds_inf_ = false;
    StepGraphs graphs_;
};

}  // namespace switchyard::train
