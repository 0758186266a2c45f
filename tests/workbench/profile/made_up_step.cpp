#include "made_up_step.h"

#include <algorithm>

namespace switchyard::test {

using profile::EventKind;

std::int32_t MadeUpStep::named(const std::string& name) {
    auto& names = recording.names;
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) names.push_back(name);
    return static_cast<std::int32_t>(std::ranges::find(names, name) - names.begin());
}

std::int32_t MadeUpStep::begin(EventKind kind, const std::string& name, double ms) {
    const auto index = static_cast<std::int32_t>(recording.events.size());
    auto& event = recording.events.emplace_back();
    event.kind = kind;
    event.name = named(name);
    event.parent = open_.empty() ? -1 : open_.back();
    event.begin = event.end = static_cast<std::int64_t>(ms * 1e6);
    open_.push_back(index);
    return index;
}

std::int32_t MadeUpStep::call(const std::string& slot, const std::string& component, const std::string& name,
                              double ms) {
    const auto index = begin(EventKind::call, name, ms);
    const auto of_slot = named(slot), of_component = named(component);
    (*this)[index].slot = of_slot;
    (*this)[index].component = of_component;
    return index;
}

void MadeUpStep::end(double ms) {
    (*this)[open_.back()].end = static_cast<std::int64_t>(ms * 1e6);
    open_.pop_back();
}

MadeUpStep made_up_step() {
    MadeUpStep step;
    step.begin(EventKind::step, "data", 0);
    step.begin(EventKind::part, "data", 0);
    step.call("data_loader", "torch/torch", "data_loader.next", 0);
    step.end(1), step.end(1), step.end(1);

    step.begin(EventKind::step, "step", 1);
    step.begin(EventKind::part, "forward", 1);
    step.begin(EventKind::place, "encoder.0.attention.q", 2);
    const auto forward = step.call("linear.attention.q", "torch/torch", "linear.forward", 2);
    step[forward].cost = {1000, 100, 50};
    step[forward].backward_cost = {2000, 150, 100};
    const auto product = step.begin(EventKind::op, "aten::mm", 3);
    step[product].product = true;
    step[product].cost = {1000, 100, 50};
    step.end(11), step.end(12), step.end(12), step.end(13);
    step.begin(EventKind::part, "backward", 13);
    const auto node = step.begin(EventKind::node, "MmBackward0", 14);
    step[node].forward = product;
    const auto back = step.begin(EventKind::op, "aten::mm", 14);
    step[back].product = true;
    step[back].cost = {2000, 150, 100};
    step.end(34), step.end(34), step.end(35);
    step.begin(EventKind::part, "update", 35);
    step.call("optimizer", "torch/torch", "optimizer.step", 35);
    step.end(40), step.end(40), step.end(41);
    return step;
}

}  // namespace switchyard::test
