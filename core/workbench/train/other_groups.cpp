#include "core/workbench/train/other_groups.h"

#include <set>
#include <stdexcept>
#include <string>

namespace switchyard::train {
namespace {

void refuse_untrained(const std::set<std::string>& trained, const std::set<std::string>& saved) {
    if (saved.empty()) return;  // of an optimizer that keeps nothing
    for (const auto& name : trained) {
        if (saved.contains(name)) continue;
        throw std::invalid_argument(
            name +
            " was not trained before, and a state that ranks divide has no place for it; resume with "
            "distributed.shard = \"none\" (--allow-change distributed.shard), and with it again from a "
            "later checkpoint on");
    }
}

}  // namespace

void OtherGroups::fit(const std::vector<ParameterGroup>& groups, const model::Parameters& parameters,
                      const runtime::OptimizerOp& optimizer, bool sharded, TrainingState& state) {
    std::set<std::string> trained, saved;
    for (const auto& entry : state.optimizer.entries) saved.insert(entry.parameter);
    for (const auto& group : groups)
        for (const auto& parameter : group.parameters) trained.insert(parameter.name);
    if (sharded) refuse_untrained(trained, saved);
    std::erase_if(state.optimizer.entries, [&](const OptimizerStateEntry& entry) {
        return !trained.contains(entry.parameter) && parameters.find(entry.parameter) != nullptr;
    });
    if (!first_) {
        first_.emplace();
        for (const auto& entry : optimizer.state().entries)
            if (!sharded && !saved.contains(entry.parameter))
                first_->push_back({entry.parameter, entry.key, entry.value.clone()});
    }
    for (const auto& entry : *first_)
        if (!saved.contains(entry.parameter))
            state.optimizer.entries.push_back({entry.parameter, entry.key, entry.value.clone()});
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            if (parameter.value.element_size() < 4 && !state.masters.contains(parameter.name))
                state.masters[parameter.name] = parameter.value.detach().to(at::kFloat);
        }
    }
}

}  // namespace switchyard::train
