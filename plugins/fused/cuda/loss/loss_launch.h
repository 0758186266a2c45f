// What the host calls to start the kernels of cross-entropy.
#pragma once

#include <switchyard/sdk/cuda/device_launch.h>

namespace switchyard::fused_cuda {

// What is known of a row after some of its classes.
struct RowSummary {
    float top = 0.0F, total = 0.0F;   // the largest logit, and the sum of e^(logit - top)
    float sum = 0.0F, chosen = 0.0F;  // of the logits; the target's
};

// Rows of logits, dense: classes [first_class, first_class + n) of `classes`.
struct LossCall {
    const void* logits = nullptr;
    device::Storage storage = device::Storage::float32;
    bool aligned = false;  // the first row begins at a multiple of 16 bytes, and so does `out`
    std::int64_t rows = 0, n = 0, first_class = 0, classes = 0;
    const std::int64_t* targets = nullptr;
    std::int64_t ignore_index = -100;
    float smoothing = 0.0F, z_loss = 0.0F;

    // Summaries. With the last classes, the losses too: 0 where the target is ignored.
    bool begins = true, ends = true;
    RowSummary* summaries = nullptr;  // [rows]; nullptr where a row is taken in whole
    float* log_sum_exp = nullptr;     // [rows]
    float* losses = nullptr;          // [rows]

    // Gradients of the losses times *scale, or each with its own; zeros where the target is ignored. `out`
    // may be the logits.
    const float* known_log_sum_exp = nullptr;
    const float* scale = nullptr;
    bool scale_of_each = false;
    void* out = nullptr;
};

// The number of rows that count, and the sum of their losses: divided by it if `mean`, and by `divisor`.
struct LossSum {
    const float* losses = nullptr;
    const std::int64_t* targets = nullptr;
    std::int64_t rows = 0, ignore_index = -100;
    bool mean = false;
    double divisor = 1.0;
    float* loss = nullptr;  // or nullptr: losses stay as they are
    std::int64_t* count = nullptr;
};

constexpr int loss_threads = 256;
constexpr std::size_t loss_shared_bytes = 256;

// A block a row.
void launch_summaries(const LossCall& call, void* stream);
void launch_gradients(const LossCall& call, void* stream);
void launch_loss_sum(const LossSum& call, void* stream);

}  // namespace switchyard::fused_cuda
