// Cross-entropy of rows of logits.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/loss.h>

#include "loss_kernels.h"

namespace switchyard::fused {

struct LossRows {
    at::Tensor logits;  // [rows, classes], dense
    const std::int64_t* targets = nullptr;
    const LossParams* params = nullptr;
};

// What a row's gradient is multiplied with: one number, or one of each row.
struct RowScale {
    double all = 1.0;
    const float* each = nullptr;

    double of(std::int64_t row) const { return each == nullptr ? all : static_cast<double>(each[row]); }
};

// Takes the logits in. Rows that are ignored are left as they are.
void summarize_rows(const LossRows& rows, RowSummary* summaries);

// Losses and their gradients in one sweep; `out` may be the logits. Losses are 0 and gradients zeros where
// the target is ignored.
std::vector<double> losses_and_gradients(const LossRows& rows, double scale, const at::Tensor& out,
                                         bool streams);

double row_loss(const RowSummary& row, std::int64_t classes, const LossParams& params);

// Gradients of the losses; zeros where the target is ignored. `out` may be the logits.
void row_gradients(const LossRows& rows, const float* log_sum_exp, const RowScale& scale,
                   const at::Tensor& out, bool streams);

}  // namespace switchyard::fused
