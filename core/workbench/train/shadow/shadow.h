// Candidates that run beside the components that train, on some steps of a live training, and change nothing
// of it: `[attention] shadow = { backend = "mine", every = 100 }`.
//
//     Shadow shadow(plan, session.plan(), registry, host, device);
//     trainer.set_shadow(&shadow);
//
// On such a step every call of a slot that has a shadow is seen as the model makes it
// (core/kernel/runtime/operation_observer.h), and when backward has the gradients of its outputs, it is made
// twice, by two components that training knows nothing of (shadow_call.h): one as the trusted one, and the
// candidate. What training gets are the trusted component's own outputs, gradients and random numbers: its
// losses and weights are the same bits. What a candidate throws is written down; one that crashes ends the
// process.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/operation_observer.h"
#include "core/kernel/runtime/operations/operation.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/model/bound_plan.h"
#include "core/workbench/train/shadow/shadow_call.h"
#include "core/workbench/train/shadow/shadow_lines.h"

namespace switchyard::train {

class Shadow final : public runtime::OperationObserver {
public:
    // Creates the components. `bound` is the plan as it trains; it, `registry` and `host` outlive this.
    // Throws PluginError for a component that cannot be created.
    Shadow(const resolver::Plan& plan, const model::BoundPlan& bound, runtime::Registry& registry,
           const HostInfo& host, Device device);
    ~Shadow() override;

    // Steps are counted from 1. True where one of the slots has its turn: then it observes until end_step.
    bool begin_step(std::int64_t step);
    // What was found in the step, of each slot that had its turn.
    ShadowLines end_step();

    void called(const runtime::AttentionOp& op, const AttentionInputs& inputs, const AttentionParams& params,
                const AttentionOutputs& made) override;
    void called(const runtime::NormalizationOp& op, const NormalizationInputs& inputs,
                const NormalizationParams& params, const NormalizationOutputs& made) override;
    void called(const runtime::ActivationOp& op, const ActivationInputs& inputs,
                const ActivationParams& params, const at::Tensor& made) override;
    void called(const runtime::LinearOp& op, const LinearInputs& inputs,
                const runtime::LinearContext& context, const at::Tensor& made) override;
    void called(const runtime::LossOp& op, const LossInputs& inputs, const LossParams& params,
                const LossOutputs& made) override;

private:
    struct Slot;

    template <class Traits>
    void follow(const typename Traits::Op& op, const typename Traits::Inputs& inputs,
                const typename Traits::Params& params, const typename Traits::Outputs& made);
    void wait_for_gradients(Slot& slot, std::shared_ptr<ShadowCall> call, const TensorList& outputs);
    void compare(Slot& slot, ShadowCall& call);

    Device device_;
    std::int64_t step_ = 0;
    std::unordered_map<const runtime::BindingBase*, std::unique_ptr<Slot>> slots_;  // by what trains
    std::vector<Slot*> in_order_;
    std::mutex mutex_;  // backward has threads of its own
};

}  // namespace switchyard::train
