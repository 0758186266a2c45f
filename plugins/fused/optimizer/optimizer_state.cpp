#include "optimizer_state.h"

#include <ATen/ops/zeros_like.h>

#include <switchyard/sdk/optimizer_groups.h>

namespace switchyard::fused {
namespace {

struct Keys {
    const char* first;  // nullptr: no such buffer
    const char* second;
};

Keys keys_of(OptimizerKind algorithm, const Parameter& parameter, const HyperParameters& hyper) {
    if (is_muon_matrix(algorithm, parameter.value)) return {"momentum_buffer", nullptr};
    if (algorithm == OptimizerKind::sgd)
        return {hyper.momentum != 0.0 ? "momentum_buffer" : nullptr, nullptr};
    return {"exp_avg", algorithm == OptimizerKind::lion ? nullptr : "exp_avg_sq"};
}

}  // namespace

void MomentState::bind(const std::vector<ParameterGroup>& groups) {
    check_groups("fused", groups);
    moments_.clear();
    entries_.clear();
    step = 0;
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            Moments own;
            const auto add = [&](const char* key, at::Tensor& moment) {
                if (key == nullptr) return;
                const auto& value = parameter.value;
                moment = at::zeros_like(value, value.options().dtype(at::kFloat).requires_grad(false));
                entries_.push_back({parameter.name, key, moment});
            };
            const Keys keys = keys_of(algorithm_, parameter, group.hyper);
            add(keys.first, own.first);
            add(keys.second, own.second);
            moments_.push_back(std::move(own));
        }
    }
}

void MomentState::load(const OptimizerState& state) {
    load_state("fused", algorithm_, state, entries_);
    step = state.step;
}

}  // namespace switchyard::fused
