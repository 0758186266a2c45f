// From hidden states to words, and the loss over them: the end of every language model.
//
// Where ranks have a part of the words each, no rank has all logits in training: each finds the logarithm of
// the sum of exponentials of its own, and three numbers a row travel (Shoeybi et al. 2019, arXiv:1909.08053,
// section 3). In evaluation logits are read by others, and all ranks get them.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/workbench/model/builder.h"
#include "core/workbench/model/model.h"

namespace switchyard::model {

// Rows of hidden states, and what each is to predict.
struct LabelledRows {
    at::Tensor x;        // [rows, hidden]
    at::Tensor targets;  // [rows]
};

class LmHead {
public:
    LmHead() = default;
    // Projects with `words`, the embedding table, where the model ties them; else with a weight of its own.
    // `bias`: set_bias follows.
    LmHead(Builder& builder, const at::Tensor& words, bool bias = false);
    void set_bias(const at::Tensor& bias) { out_.bias = bias; }
    // What hidden states are multiplied with before the projection.
    void set_scale(double scale) { scale_ = scale; }

    // All rows of `hidden`, or, unless task.project_all, only those that have a label: where few have, the
    // rest need no projection.
    LabelledRows rows(const at::Tensor& hidden, const at::Tensor& labels, std::int64_t ignore_index) const;

    // [rows, vocab] of hidden states of any leading shape.
    at::Tensor logits(const ForwardContext& context, const at::Tensor& hidden) const;
    // The loss of hidden states whose `labels` stand in the same order.
    TaskResult task(const ForwardContext& context, const at::Tensor& hidden, const at::Tensor& labels,
                    const LossParams& params) const {
        return loss(context, rows(hidden, labels, params.ignore_index), params);
    }
    TaskResult loss(const ForwardContext& context, const LabelledRows& rows, const LossParams& params) const;

private:
    at::Tensor scaled(const at::Tensor& x) const;
    TaskResult loss_of_parts(const ForwardContext& context, const LabelledRows& rows,
                             const LossParams& params) const;

    ParameterCut cut_;  // of the words
    Linear out_;        // to those that this process has
    Slot<runtime::LossOp> loss_;
    double scale_ = 1.0;
    bool project_all_ = false;
    bool fused_ = false;  // the loss takes hidden states and projects by itself
};

}  // namespace switchyard::model
