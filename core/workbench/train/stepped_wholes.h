// Parameters of which ranks have a part each (model_parts.h), for an optimizer that steps whole matrices or
// goes by blocks of them: one rank steps each, with its state. It gets the parts of the gradient and of the
// values before a step, and hands out the values after it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/sharded_optimizer.h>
#include "core/kernel/runtime/operations/optimizer_op.h"
#include "core/workbench/train/model_parts.h"

namespace switchyard::train {

// Whether it cannot step a part of a matrix, but a whole one among those of other ranks.
bool steps_wholes_only(const runtime::OptimizerOp& optimizer);

class SteppedWholes {
public:
    // `model` outlives it.
    SteppedWholes(const ModelParts& model, const std::vector<ParameterGroup>& groups);

    // What this rank steps: what is not cut, as all ranks do, and wholes.
    std::vector<ParameterGroup>& own() { return own_; }
    const std::vector<ParameterPart>& places() const { return places_; }

    // On all ranks, before and after a step of own().
    void take(const std::vector<ParameterGroup>& groups);
    void hand_out(std::vector<ParameterGroup>& groups);

private:
    // In own_.
    struct Place {
        std::size_t group = 0, parameter = 0;
    };

    template <class Visit>
    void for_each(const std::vector<ParameterGroup>& groups, const Visit& visit);

    const ModelParts& model_;
    std::vector<ParameterGroup> own_;
    std::vector<ParameterPart> places_;  // of its parameters
    std::vector<std::size_t> group_of_;  // of each of own_ in the model's groups
    // Of each parameter of the model's groups, in their order; none: another rank steps it.
    std::vector<std::optional<Place>> own_of_;
};

}  // namespace switchyard::train
