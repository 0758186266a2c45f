// The state of TorchOptimizer: what LibTorch's fused and foreach kernels keep for each parameter, and one
// step count for all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/optimizer.h>

namespace switchyard {

// In the dtype of the tensor that is updated; undefined where the algorithm has no such buffer.
struct Moments {
    std::string parameter;
    at::Tensor first;   // exp_avg, or sgd's momentum_buffer
    at::Tensor second;  // exp_avg_sq
};

class TorchOptimizerState {
public:
    explicit TorchOptimizerState(OptimizerKind algorithm) : algorithm_(algorithm) {}

    // As Optimizer::bind, state and load.
    void bind(const std::vector<ParameterGroup>& groups);
    OptimizerState state() const;
    void load(const OptimizerState& state);

    // In the order of the groups and of their parameters.
    Moments& operator[](std::size_t index) { return moments_[index]; }
    // float32 scalar on the device of the parameters, as LibTorch's kernels read it.
    at::Tensor& step_count() { return step_count_; }

private:
    const char* first_key() const { return algorithm_ == OptimizerKind::sgd ? "momentum_buffer" : "exp_avg"; }

    OptimizerKind algorithm_;
    std::vector<Moments> moments_;
    at::Tensor step_count_;
};

// The tensor that a step updates: the master weight where there is one.
inline const at::Tensor& target_of(const Parameter& parameter) {
    return parameter.master.defined() ? parameter.master : parameter.value;
}

}  // namespace switchyard
