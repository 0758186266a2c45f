// The moments of FusedOptimizer, in float32 whatever the parameters are stored in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/optimizer.h>

namespace switchyard::fused {

// Muon's matrices; its other tensors get an AdamW step (Jordan et al. 2024).
inline bool is_muon_matrix(OptimizerKind algorithm, const at::Tensor& value) {
    return algorithm == OptimizerKind::muon && value.dim() >= 2;
}

// In memory as the parameter is; undefined where the algorithm has no such buffer.
struct Moments {
    at::Tensor first;   // exp_avg, momentum_buffer
    at::Tensor second;  // exp_avg_sq
};

class MomentState {
public:
    explicit MomentState(OptimizerKind algorithm) : algorithm_(algorithm) {}

    // As Optimizer::bind, state and load.
    void bind(const std::vector<ParameterGroup>& groups);
    OptimizerState state() const { return {std::string(name(algorithm_)), step, entries_}; }
    void load(const OptimizerState& state);

    const Moments& operator[](std::size_t index) const { return moments_[index]; }

    std::int64_t step = 0;

private:
    OptimizerKind algorithm_;
    std::vector<Moments> moments_;              // of the parameters over all groups
    std::vector<OptimizerStateEntry> entries_;  // the same tensors, named
};

}  // namespace switchyard::fused
