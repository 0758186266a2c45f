// An optimizer whose state is divided over processes (Rajbhandari et al. 2020, arXiv:1910.02054,
// "ZeRO-1"): each is bound to parts of the parameters and steps these alone. Asked for through
// Component::query; nullptr: it steps whole models only. Since 1.0.
//
//     void* query(std::string_view id) override {
//         if (id == sharded_optimizer_interface) return static_cast<ShardedOptimizer*>(this);
//         ...
//     }
//
// What a part becomes is what it becomes in the step of its whole parameter, bit for bit with the same factor
// on the gradients. So are its state's entries: one that has a value for each value of the parameter has the
// shape of the part, any other one value for each `part_alignment` of them, rounded up. Entries of all parts
// end to end are the entry of the whole parameter.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/optimizer.h>

namespace switchyard {

inline constexpr std::string_view sharded_optimizer_interface = "sharded_optimizer.1";

// Vector kernels treat values alike whose places differ by a multiple of this.
inline constexpr std::int64_t vector_alignment = 64;

// Where a parameter that is bound comes from.
struct ParameterPart {
    std::int64_t index = 0;  // of its parameter among all that are trained, whoever steps them
    std::int64_t begin = 0;  // values of the parameter before the part, in the order of memory
    std::int64_t whole = 0;  // values of the parameter
};

class ShardedOptimizer {
public:
    virtual ~ShardedOptimizer() = default;

    // A part begins at a multiple of so many values of its parameter; 0: parameters are not cut.
    virtual std::int64_t part_alignment() const = 0;

    // Instead of Optimizer::bind. `parts`: of the parameters of all groups, in their order. A parameter
    // that is cut is a vector, one that is whole has its shape.
    virtual void bind_parts(const std::vector<ParameterGroup>& groups,
                            const std::vector<ParameterPart>& parts) = 0;

    // Instead of Optimizer::step: all gradients, of all processes, are finite, and their norm after
    // division by params.grad_scale is `grad_norm`.
    virtual StepResult step_parts(std::vector<ParameterGroup>& groups, const StepParams& params,
                                  double grad_norm) = 0;
};

// Whether a value's step is a matter of this value alone: lamb has norms of whole parameters, muon matrices,
// and of a custom algorithm its component knows.
constexpr bool steps_values_alone(OptimizerKind algorithm) { return algorithm <= OptimizerKind::lion; }

}  // namespace switchyard
