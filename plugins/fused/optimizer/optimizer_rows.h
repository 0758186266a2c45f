// Optimizer steps on rows of floats, in vectors of the widest kind that the processor has (chosen at run time
// by Highway). Algorithms and their order of operations:
// <switchyard/interfaces/optimizer.h>.
#pragma once

#include <cstdint>

#include <switchyard/sdk/cpu/row_functions.h>

namespace switchyard::fused {

// Of one group and step, ready for the vectors.
struct StepNumbers {
    float gradient_factor = 1.0F;  // unscaling and clipping
    float lr = 0.0F;
    float keep = 1.0F;                                             // 1 - lr * weight_decay
    float weight_decay = 0.0F;                                     // L2
    float beta1 = 0.0F, rest1 = 0.0F, beta2 = 0.0F, rest2 = 0.0F;  // rest: 1 - beta
    float unbias1 = 1.0F;                                          // 1 / (1 - beta1^t)
    float unbias2 = 1.0F;                                          // 1 / sqrt(1 - beta2^t)
    float eps = 0.0F;
    float momentum = 0.0F, rest_momentum = 1.0F;
    bool nesterov = false;
};

// The rows of one stretch of a tensor; those that the algorithm lacks are nullptr.
struct Rows {
    float* w = nullptr;
    const float* g = nullptr;
    float* first = nullptr;   // exp_avg, momentum_buffer
    float* second = nullptr;  // exp_avg_sq
    std::int64_t n = 0;
};

struct LambSums {
    double w = 0.0, direction = 0.0;  // of squares
};

struct OptimizerRows {
    void (*adamw)(const Rows& rows, const StepNumbers& numbers);
    void (*adam)(const Rows& rows, const StepNumbers& numbers);
    void (*sgd)(const Rows& rows,
                const StepNumbers& numbers);  // without a momentum buffer where `first` is nullptr
    void (*lion)(const Rows& rows, const StepNumbers& numbers);
    // Takes the gradient into the moments; w is read only. Then, with the tensor's trust ratio in `trust`,
    // the step itself.
    LambSums (*lamb_moments)(const Rows& rows, const StepNumbers& numbers);
    void (*lamb_step)(const Rows& rows, const StepNumbers& numbers, float trust);
    // Takes the gradient into the buffer; writes the direction to w, and returns its sum of squares.
    double (*muon_direction)(const Rows& rows, const StepNumbers& numbers);
    // g is the orthogonal direction, `trust` the factor of its shape.
    void (*muon_step)(const Rows& rows, const StepNumbers& numbers, float trust);
    RowFunctions functions;
};

const OptimizerRows& optimizer_rows();

}  // namespace switchyard::fused
