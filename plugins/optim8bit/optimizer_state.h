// The moments of Optim8Bit: codes with a scale for every block, or floats where a tensor is small or asked to
// stay in 32 bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/sharded_optimizer.h>

namespace switchyard::optim8bit {

// Which parameters stay in 32 bits (plugin.toml).
struct Wide {
    std::int64_t min_8bit_size = 4096;
    std::vector<std::string> names;

    bool holds(const Parameter& parameter, const ParameterPart& part) const;
};

// In the order of memory of the parameter.
struct Moment {
    at::Tensor values;  // uint8 codes or float32, of the parameter's shape; undefined: the algorithm has none
    at::Tensor largest;  // float32 [blocks], undefined beside floats
};

struct Moments {
    std::string parameter;
    Moment first, second;
    bool wide = false;
    ParameterPart part = {};  // all of it, unless it is cut
};

class State {
public:
    State(OptimizerKind algorithm, Wide wide) : algorithm_(algorithm), wide_(std::move(wide)) {}

    // As Optimizer::bind, state and load. `parts`: of the parameters; empty: they are whole.
    void bind(const std::vector<ParameterGroup>& groups, const std::vector<ParameterPart>& parts = {});
    OptimizerState state() const { return {std::string(name(algorithm_)), step, entries_}; }
    void load(const OptimizerState& state);

    Moments& operator[](std::size_t index) { return moments_[index]; }

    std::int64_t step = 0;

private:
    OptimizerKind algorithm_;
    Wide wide_;
    std::vector<Moments> moments_;              // of the parameters over all groups
    std::vector<OptimizerStateEntry> entries_;  // the same tensors, named
};

}  // namespace switchyard::optim8bit
