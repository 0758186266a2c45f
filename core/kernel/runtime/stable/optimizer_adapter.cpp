#include <deque>
#include <stdexcept>
#include <vector>

#include "core/kernel/runtime/stable/adapters.h"
#include "core/kernel/runtime/stable/exchange.h"

namespace switchyard::runtime::stable {
namespace {

// Parameter groups in C; borrows them.
class GroupsInC {
public:
    GroupsInC(const std::vector<ParameterGroup>& groups, Exchange& exchange) {
        for (const ParameterGroup& group : groups) {
            auto& pointers = lists_.emplace_back();
            for (const Parameter& parameter : group.parameters) {
                pointers.push_back(&parameters_.emplace_back(
                    SwitchyardStableParameter{.struct_size = sizeof(SwitchyardStableParameter),
                                              .name = parameter.name.c_str(),
                                              .value = exchange.lend(parameter.value),
                                              .gradient = exchange.lend(parameter.gradient),
                                              .master = exchange.lend(parameter.master)}));
            }
            const HyperParameters& hyper = group.hyper;
            pointers_.push_back(&groups_.emplace_back(
                SwitchyardStableGroup{.struct_size = sizeof(SwitchyardStableGroup),
                                      .name = group.name.c_str(),
                                      .lr = hyper.lr,
                                      .beta1 = hyper.beta1,
                                      .beta2 = hyper.beta2,
                                      .eps = hyper.eps,
                                      .weight_decay = hyper.weight_decay,
                                      .momentum = hyper.momentum,
                                      .nesterov = hyper.nesterov,
                                      .parameter_count = static_cast<std::int64_t>(pointers.size()),
                                      .parameters = pointers.data()}));
        }
    }

    std::int64_t count() const { return static_cast<std::int64_t>(pointers_.size()); }
    const SwitchyardStableGroup* const* groups() const { return pointers_.data(); }

private:
    // Deques: what is pointed to stays where it is.
    std::deque<SwitchyardStableParameter> parameters_;
    std::deque<std::vector<const SwitchyardStableParameter*>> lists_;
    std::deque<SwitchyardStableGroup> groups_;
    std::vector<const SwitchyardStableGroup*> pointers_;
};

class OptimizerAdapter final : public Optimizer {
public:
    OptimizerAdapter(const SwitchyardStableComponent& entry, const CreateInfo& info)
        : Optimizer(info), made_(entry, Kind::optimizer, info) {}

    void bind(const std::vector<ParameterGroup>& groups) override {
        Exchange exchange;
        const GroupsInC in_c(groups, exchange);
        const SwitchyardStableOptimizerBind call{
            .struct_size = sizeof(call), .group_count = in_c.count(), .groups = in_c.groups()};
        refuse_if(functions().bind(made_.get(), &call));
    }

    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) override {
        Exchange exchange;
        const GroupsInC in_c(groups, exchange);
        SwitchyardStableOptimizerStep call{.struct_size = sizeof(call),
                                           .group_count = in_c.count(),
                                           .groups = in_c.groups(),
                                           .max_grad_norm = params.max_grad_norm,
                                           .grad_scale = params.grad_scale,
                                           .grad_scale_tensor = exchange.lend(params.grad_scale_tensor),
                                           .lr_factor_tensor = exchange.lend(params.lr_factor_tensor),
                                           .grad_norm = nullptr,
                                           .found_inf = nullptr};
        const auto status = functions().step(made_.get(), &call);
        const auto given =
            exchange.take(status, {{"grad_norm", call.grad_norm}, {"found_inf", call.found_inf}});
        return {given[0], given[1]};
    }

    OptimizerState state() const override {
        OptimizerState state;
        SwitchyardStableOptimizerState call{.struct_size = sizeof(call),
                                            .state = reinterpret_cast<SwitchyardStableState*>(&state),
                                            .algorithm = nullptr,
                                            .step = 0};
        require_fine(functions().state(made_.get(), &call));
        if (call.algorithm == nullptr) throw std::runtime_error("its state names no algorithm");
        state.algorithm = call.algorithm;
        state.step = call.step;
        return state;
    }

    void load(const OptimizerState& state) override {
        Exchange exchange;
        std::deque<SwitchyardStableStateEntry> entries;
        std::vector<const SwitchyardStableStateEntry*> pointers;
        for (const OptimizerStateEntry& entry : state.entries) {
            pointers.push_back(&entries.emplace_back(
                SwitchyardStableStateEntry{.struct_size = sizeof(SwitchyardStableStateEntry),
                                           .parameter = entry.parameter.c_str(),
                                           .key = entry.key.c_str(),
                                           .value = exchange.lend(entry.value)}));
        }
        const SwitchyardStableOptimizerLoad call{.struct_size = sizeof(call),
                                                 .algorithm = state.algorithm.c_str(),
                                                 .step = state.step,
                                                 .entry_count = static_cast<std::int64_t>(pointers.size()),
                                                 .entries = pointers.data()};
        refuse_if(functions().load(made_.get(), &call));
    }

private:
    // What the contract calls std::invalid_argument.
    static void refuse_if(std::int32_t status) {
        try {
            require_fine(status);
        } catch (const std::runtime_error& error) {
            throw std::invalid_argument(error.what());
        }
    }
    const SwitchyardStableOptimizer& functions() const {
        return made_.functions<SwitchyardStableOptimizer>();
    }

    StableInstance made_;
};

}  // namespace

Optimizer* new_optimizer(const SwitchyardStableComponent& entry, const CreateInfo& info) {
    return new OptimizerAdapter(entry, info);
}

}  // namespace switchyard::runtime::stable
