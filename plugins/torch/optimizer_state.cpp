#include "optimizer_state.h"

#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>

namespace switchyard {
namespace {

using at::Tensor;

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
    std::ostringstream text;
    text << "torch optimizer: ";
    (text << ... << parts);
    throw std::invalid_argument(text.str());
}

void check(const Parameter& parameter) {
    const auto& value = parameter.value;
    if (!value.defined()) refuse("parameter '", parameter.name, "' has no value");
    if (value.layout() != at::kStrided) refuse("parameter '", parameter.name, "' is sparse");
    if (!value.is_floating_point()) {
        refuse("parameter '", parameter.name, "' is of dtype ", value.scalar_type(),
               ", expected a floating one");
    }
    if (!target_of(parameter).is_non_overlapping_and_dense()) {
        refuse("parameter '", parameter.name, "' is not dense in memory; give its contiguous copy");
    }
}

void replace(const Tensor& own, const OptimizerStateEntry& entry,
             std::vector<std::pair<Tensor, Tensor>>& plan) {
    if (!entry.value.defined() || entry.value.sizes() != own.sizes()) {
        std::ostringstream got;
        if (entry.value.defined()) got << entry.value.sizes();
        refuse("state entry '", entry.key, "' of '", entry.parameter, "' has shape ", got.str(),
               ", expected ", own.sizes());
    }
    plan.emplace_back(own, entry.value);
}

}  // namespace

void TorchOptimizerState::bind(const std::vector<ParameterGroup>& groups) {
    std::set<std::string> names;
    std::vector<Moments> moments;
    for (const auto& group : groups) {
        if (group.parameters.empty()) refuse("group '", group.name, "' has no parameters");
        for (const auto& parameter : group.parameters) {
            check(parameter);
            if (!names.insert(parameter.name).second)
                refuse("two parameters are called '", parameter.name, "'");
            Moments own{parameter.name, {}, {}};
            const auto& target = target_of(parameter);
            const auto zeros = [&target] {
                return at::zeros_like(target, target.options().requires_grad(false));
            };
            if (algorithm_ != OptimizerKind::sgd || group.hyper.momentum != 0.0) own.first = zeros();
            if (algorithm_ == OptimizerKind::adamw || algorithm_ == OptimizerKind::adam) own.second = zeros();
            moments.push_back(std::move(own));
        }
    }
    if (groups.empty()) refuse("there are no parameter groups");
    moments_ = std::move(moments);
    step_count_ = at::scalar_tensor(
        0.0, groups[0].parameters[0].value.options().dtype(at::kFloat).requires_grad(false));
}

OptimizerState TorchOptimizerState::state() const {
    OptimizerState result{std::string(name(algorithm_)), 0, {}};
    if (step_count_.defined()) result.step = static_cast<std::int64_t>(step_count_.item<double>());
    for (const auto& own : moments_) {
        if (own.first.defined()) result.entries.push_back({own.parameter, first_key(), own.first});
        if (own.second.defined()) result.entries.push_back({own.parameter, "exp_avg_sq", own.second});
    }
    return result;
}

void TorchOptimizerState::load(const OptimizerState& state) {
    if (state.algorithm != name(algorithm_)) {
        refuse("the state is of '", state.algorithm, "', this optimizer is '", name(algorithm_), "'");
    }
    std::map<std::pair<std::string, std::string>, const OptimizerStateEntry*> given;
    for (const auto& entry : state.entries) {
        if (!given.emplace(std::pair(entry.parameter, entry.key), &entry).second) {
            refuse("state entry '", entry.key, "' of '", entry.parameter, "' is there twice");
        }
    }
    std::vector<std::pair<Tensor, Tensor>> plan;
    const auto take = [&](const Moments& own, const char* key, const Tensor& tensor) {
        if (!tensor.defined()) return;
        const auto found = given.find({own.parameter, key});
        if (found == given.end()) refuse("state entry '", key, "' of '", own.parameter, "' is missing");
        replace(tensor, *found->second, plan);
        given.erase(found);
    };
    for (const auto& own : moments_) {
        take(own, first_key(), own.first);
        take(own, "exp_avg_sq", own.second);
    }
    if (!given.empty()) {
        const auto& [parameter, key] = given.begin()->first;
        refuse("state entry '", key, "' of '", parameter, "' belongs to no parameter here");
    }
    for (auto& [own, value] : plan) own.copy_(value);
    step_count_.fill_(static_cast<double>(state.step));
}

}  // namespace switchyard
