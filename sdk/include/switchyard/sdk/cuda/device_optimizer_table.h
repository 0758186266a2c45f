// The list of an optimizer's tensors in a step, as it lies in memory of the device. Plain data, for kernels
// (device_optimizer.h) and for the host (optimizer_on_device.h). Since 1.0.
#pragma once

#include <cstdint>

#include <switchyard/sdk/cuda/device_launch.h>

namespace switchyard::device {

constexpr std::int64_t step_piece = 8192;  // values at most; a multiple of 256

struct TensorOfStep {
    void* value = nullptr;
    float* master = nullptr;  // or nullptr
    const void* gradient = nullptr;
    void* first =
        nullptr;  // moments, in the form in which the plugin keeps them; nullptr where the rule has none
    void* second = nullptr;
    float* first_scale = nullptr;
    float* second_scale = nullptr;
    std::int64_t count = 0;
    std::int64_t first_piece = 0;  // its pieces follow one another
    std::int32_t group = 0;
    std::uint32_t index = 0;  // of the parameter, over all groups
    float trust = 1.0F;       // a factor on the rate that the host knows
    Storage value_type = Storage::float32, gradient_type = Storage::float32;
    bool aligned = false;   // all of them begin at multiples of 16 bytes
    std::uint8_t rule = 0;  // the plugin's own number for what is done to this tensor
};

struct PieceOfStep {
    std::int32_t tensor = 0, number = 0;  // values from number * step_piece on
};

struct GroupOfStep {
    double lr = 0.0, beta1 = 0.0, beta2 = 0.0, eps = 0.0, weight_decay = 0.0, momentum = 0.0;
    std::int64_t nesterov = 0;
};

struct StepTable {
    const TensorOfStep* tensors = nullptr;
    const PieceOfStep* pieces = nullptr;
    const GroupOfStep* groups = nullptr;
    std::int64_t tensor_count = 0, piece_count = 0;
};

// What stays on the device from step to step.
struct StepMemory {
    std::int64_t step = 0;   // steps that were made
    float factor = 1.0F;     // on every gradient: unscaling and clipping
    float found_inf = 0.0F;  // 1: a gradient was not finite
    std::uint32_t tickets = 0;
    std::uint32_t unused = 0;
};

// A float32 scalar on the device where it is given, else a number.
struct Scalar {
    const float* tensor = nullptr;
    double number = 1.0;
};

// The norm of all gradients and what follows from it.
struct NormCall {
    StepTable table;
    StepMemory* memory = nullptr;
    double* sums = nullptr;  // of each piece
    Scalar grad_scale;
    double max_grad_norm = 0.0;  // 0: no clipping
    float* grad_norm = nullptr;  // the result
    float* found_inf = nullptr;  // likewise, or nullptr
};

// The step itself.
struct StepCall {
    StepTable table;
    StepMemory* memory = nullptr;
    Scalar grad_scale;  // where no norm was taken
    Scalar lr_factor;
    bool looked = false;  // a norm was taken: the factor and the verdict are in memory
};

constexpr int optimizer_threads = 256;

}  // namespace switchyard::device
