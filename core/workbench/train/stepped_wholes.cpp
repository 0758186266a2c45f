#include "core/workbench/train/stepped_wholes.h"

#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

namespace switchyard::train {
namespace {

at::Tensor empty_whole(const model::ParameterCut& cut, const at::Tensor& part) {
    return at::empty(cut.whole_sizes(part.sizes().vec()), part.options().requires_grad(false));
}

}  // namespace

bool steps_wholes_only(const runtime::OptimizerOp& optimizer) {
    const auto alignment = optimizer.part_alignment();
    // Parts of columns have no place in memory where they could begin.
    return alignment && (*alignment == 0 || *alignment > vector_alignment);
}

SteppedWholes::SteppedWholes(const ModelParts& model, const std::vector<ParameterGroup>& groups)
    : model_(model) {
    std::int64_t index = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        ParameterGroup own{groups[i].name, groups[i].hyper, {}};
        for (const auto& parameter : groups[i].parameters) {
            const auto* const cut = model_.cut_of(parameter.name);
            auto& own_place = own_of_.emplace_back();
            const auto number = index++;
            if (cut != nullptr && !model_.steps(parameter.name)) continue;
            auto stepped = parameter;
            if (cut != nullptr) {
                stepped.value = empty_whole(*cut, parameter.value);
                if (parameter.master.defined()) stepped.master = empty_whole(*cut, parameter.master);
            }
            own_place = {own_.size(), own.parameters.size()};
            places_.push_back({number, 0, stepped.value.numel()});
            own.parameters.push_back(std::move(stepped));
        }
        if (own.parameters.empty()) continue;
        own_.push_back(std::move(own));
        group_of_.push_back(i);
    }
}

// visit(a parameter, how it is cut or nullptr, what this rank steps of it: nullptr where another does)
template <class Visit>
void SteppedWholes::for_each(const std::vector<ParameterGroup>& groups, const Visit& visit) {
    const at::NoGradGuard no_grad;
    auto place = own_of_.begin();
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            auto* const own = *place ? &own_[(*place)->group].parameters[(*place)->parameter] : nullptr;
            visit(parameter, model_.cut_of(parameter.name), own);
            ++place;
        }
    }
}

void SteppedWholes::take(const std::vector<ParameterGroup>& groups) {
    auto& ranks = *model_.mesh().tensor();
    for (std::size_t i = 0; i < own_.size(); ++i) own_[i].hyper = groups[group_of_[i]].hyper;
    for_each(groups, [&](const Parameter& part, const model::ParameterCut* cut, Parameter* whole) {
        if (cut == nullptr || !part.gradient.defined()) {
            if (whole != nullptr) whole->gradient = part.gradient;
            return;
        }
        const auto gathered = [&](const at::Tensor& own) {
            const auto parts = ranks.gather(own.detach().contiguous());
            return whole != nullptr ? cut->joined(parts) : at::Tensor();
        };
        const auto gradient = gathered(part.gradient);
        const auto exact = gathered(part.master.defined() ? part.master : part.value);
        if (whole == nullptr) return;
        whole->gradient = gradient;
        (whole->master.defined() ? whole->master : whole->value).copy_(exact);
    });
}

void SteppedWholes::hand_out(std::vector<ParameterGroup>& groups) {
    auto& ranks = *model_.mesh().tensor();
    for_each(groups, [&](const Parameter& part, const model::ParameterCut* cut, Parameter* whole) {
        if (cut == nullptr || !part.gradient.defined()) return;
        const auto hand_out_one = [&](const at::Tensor& own, const at::Tensor& of_stepper) {
            auto all = whole != nullptr ? of_stepper : empty_whole(*cut, own);
            ranks.broadcast(all, model_.stepper(part.name));
            own.detach().copy_(cut->own(all));
        };
        hand_out_one(part.value, whole != nullptr ? whole->value : at::Tensor());
        if (part.master.defined()) hand_out_one(part.master, whole != nullptr ? whole->master : at::Tensor());
    });
    for (auto& group : own_)
        for (auto& parameter : group.parameters) parameter.gradient.reset();
}

}  // namespace switchyard::train
