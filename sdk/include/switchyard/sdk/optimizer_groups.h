// What optimizers check alike: the groups that they are bound to, the gradients that they are given, and the
// state that they take back. Since 1.0.
//
//     void MyOptimizer::bind(const std::vector<ParameterGroup>& groups) {
//         check_groups("mine", groups);
//         ...                                    // then nothing can be refused any more
//     }
//     void MyOptimizer::load(const OptimizerState& state) {
//         load_state("mine", algorithm_, state, entries_);   // all or nothing; "custom:NAME" likewise
//         step_ = state.step;
//     }
//
// Everything throws std::invalid_argument: "NAME optimizer: what is wrong, and where".
#pragma once

#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/optimizer.h>

namespace switchyard {

inline const OptimizerRequest& optimizer_request(const CreateInfo& info) {
    return KindTraits<Kind::optimizer>::request(*info.request);
}

template <class... Parts>
[[noreturn]] void refuse_optimizer(const char* who, const Parts&... parts) {
    std::ostringstream text;
    text << who << " optimizer: ";
    (text << ... << parts);
    throw std::invalid_argument(text.str());
}

// The tensor that a step updates: the master weight where there is one.
inline const at::Tensor& step_target(const Parameter& parameter) {
    return parameter.master.defined() ? parameter.master : parameter.value;
}

// A parameter is a dense stretch of memory, and its master weight lies in the same order: then one index
// walks over all of them.
inline void check_parameter(const char* who, const Parameter& parameter) {
    const auto& value = parameter.value;
    const auto& name = parameter.name;
    if (!value.defined()) refuse_optimizer(who, "parameter '", name, "' has no value");
    if (value.layout() != at::kStrided) refuse_optimizer(who, "parameter '", name, "' is sparse");
    if (!value.is_floating_point()) {
        refuse_optimizer(who, "parameter '", name, "' is of dtype ", value.scalar_type(),
                         ", expected a floating one");
    }
    if (!value.is_non_overlapping_and_dense()) {
        refuse_optimizer(who, "parameter '", name, "' is not dense in memory; give its contiguous copy");
    }
    const auto& master = parameter.master;
    if (!master.defined()) return;
    if (master.scalar_type() != at::kFloat || master.sizes() != value.sizes()) {
        refuse_optimizer(who, "the master weight of '", name, "' is ", master.scalar_type(), " ",
                         master.sizes(), ", expected Float ", value.sizes());
    }
    if (master.strides() != value.strides()) {
        refuse_optimizer(who, "the master weight of '", name,
                         "' does not lie in memory as its parameter does");
    }
}

inline void check_groups(const char* who, const std::vector<ParameterGroup>& groups) {
    if (groups.empty()) refuse_optimizer(who, "there are no parameter groups");
    std::set<std::string> names;
    for (const auto& group : groups) {
        if (group.parameters.empty()) refuse_optimizer(who, "group '", group.name, "' has no parameters");
        for (const auto& parameter : group.parameters) {
            check_parameter(who, parameter);
            if (!names.insert(parameter.name).second)
                refuse_optimizer(who, "two parameters are called '", parameter.name, "'");
        }
    }
}

// The parameter's gradient (defined), in memory as the parameter is: itself, or a copy.
inline at::Tensor gradient_as_value(const char* who, const Parameter& parameter) {
    const auto& gradient = parameter.gradient;
    const auto& value = parameter.value;
    if (gradient.layout() != at::kStrided)
        refuse_optimizer(who, "the gradient of '", parameter.name, "' is sparse");
    if (gradient.sizes() != value.sizes()) {
        refuse_optimizer(who, "the gradient of '", parameter.name, "' has shape ", gradient.sizes(),
                         ", its parameter ", value.sizes());
    }
    if (gradient.strides() == value.strides() || gradient.numel() < 2) return gradient;
    return value.new_empty_strided(value.sizes(), value.strides(), gradient.options()).copy_(gradient);
}

// Copies the values of `state` into `own`, or throws and changes nothing. Entries are found by parameter and
// key; floating ones are converted, whole numbers (quantised state) must be of the dtype that is kept here.
inline void load_state(const char* who, std::string_view algorithm, const OptimizerState& state,
                       const std::vector<OptimizerStateEntry>& own) {
    if (state.algorithm != algorithm) {
        refuse_optimizer(who, "the state is of '", state.algorithm, "', this optimizer is '", algorithm, "'");
    }
    std::map<std::pair<std::string, std::string>, const at::Tensor*> given;
    for (const auto& entry : state.entries) {
        if (!given.emplace(std::pair(entry.parameter, entry.key), &entry.value).second) {
            refuse_optimizer(who, "state entry '", entry.key, "' of '", entry.parameter, "' is there twice");
        }
    }
    std::vector<std::pair<at::Tensor, at::Tensor>> plan;
    for (const auto& entry : own) {
        const auto found = given.find({entry.parameter, entry.key});
        if (found == given.end()) {
            refuse_optimizer(who, "state entry '", entry.key, "' of '", entry.parameter, "' is missing");
        }
        const at::Tensor& value = *found->second;
        if (!value.defined() || value.sizes() != entry.value.sizes()) {
            std::ostringstream got;
            if (value.defined()) got << value.sizes();
            refuse_optimizer(who, "state entry '", entry.key, "' of '", entry.parameter, "' has shape ",
                             got.str(), ", expected ", entry.value.sizes());
        }
        const bool both_floating = value.is_floating_point() && entry.value.is_floating_point();
        if (!both_floating && value.scalar_type() != entry.value.scalar_type()) {
            refuse_optimizer(who, "state entry '", entry.key, "' of '", entry.parameter, "' is of dtype ",
                             value.scalar_type(), ", expected ", entry.value.scalar_type());
        }
        plan.emplace_back(entry.value, value);
        given.erase(found);
    }
    if (!given.empty()) {
        const auto& [parameter, key] = given.begin()->first;
        refuse_optimizer(who, "state entry '", key, "' of '", parameter, "' belongs to no parameter here");
    }
    for (auto& [mine, value] : plan) mine.copy_(value);
}
inline void load_state(const char* who, OptimizerKind algorithm, const OptimizerState& state,
                       const std::vector<OptimizerStateEntry>& own) {
    load_state(who, name(algorithm), state, own);
}

}  // namespace switchyard
