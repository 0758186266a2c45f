// One optimizer step, plainly: a loop over parameters, ATen calls, state in tensors. The algorithms and their
// order: <switchyard/interfaces/optimizer.h>.
//
// Everything is computed in float32 at least: in the master weight where there is one (float64 stays
// float64), else in a float32 copy of the value that is rounded back. State is kept in that dtype too.
// Choices that the papers leave open:
//   lamb  the trust ratio ||w|| / ||update|| is 1 where either norm is 0, and holds for every tensor of the
//   group muon  as torch.optim.Muon: momentum buffer = lerp(buffer, g, 1 - momentum), five quintic
//   Newton-Schulz steps with (3.4445, -4.7750,
//         2.0315), rate times sqrt(max(1, rows / columns)), decoupled decay. Tensors of more than two
//         dimensions are matrices [size(0), rest]; of fewer get an AdamW step with the group's betas and eps
//         (Jordan et al. 2024 give such tensors to AdamW)
// The step count is one for all parameters; a parameter without a gradient keeps its value and its state.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <switchyard/interfaces/optimizer.h>

namespace switchyard::reference {

// State of one parameter by key: "exp_avg", "exp_avg_sq", "momentum_buffer".
using ParameterState = std::map<std::string, at::Tensor>;

class OptimizerSteps {
public:
    explicit OptimizerSteps(OptimizerKind algorithm) : algorithm_(algorithm) {}

    // As Optimizer::bind: checks the groups and makes a state of zeros.
    void bind(const std::vector<ParameterGroup>& groups);
    // As Optimizer::step. grad_norm and found_inf are always defined.
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params);
    // As ShardedOptimizer::step_parts. What bind was given may be parts of parameters.
    StepResult step_parts(std::vector<ParameterGroup>& groups, const StepParams& params, double grad_norm);
    OptimizerState state() const;
    void load(const OptimizerState& state);

private:
    // Of gradients that are unscaled and wide, in the order of the parameters; undefined where there is none.
    void apply(std::vector<ParameterGroup>& groups, const StepParams& params, double norm,
               const std::vector<at::Tensor>& gradients);

    OptimizerKind algorithm_;
    std::int64_t step_ = 0;
    std::vector<std::string> order_;  // of the parameters
    std::map<std::string, ParameterState> states_;
};

// The zero-power (orthogonal factor, approximately) of a matrix: five quintic Newton-Schulz steps in the
// dtype of the matrix.
at::Tensor newton_schulz(const at::Tensor& matrix);

}  // namespace switchyard::reference
