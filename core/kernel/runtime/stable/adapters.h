// Components of the stable tier as what the rest of the program calls: one class a kind, each in its source.
#pragma once

#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/component.h>
#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/stable_abi.h>
#include "core/kernel/runtime/stable/stable_services.h"

namespace switchyard::runtime::stable {

// The plugin's own part of a component: made, counted for, destroyed.
class StableInstance {
public:
    StableInstance(const SwitchyardStableComponent& entry, Kind kind, const CreateInfo& info);
    ~StableInstance() { entry_.destroy(component_); }
    StableInstance(const StableInstance&) = delete;
    StableInstance& operator=(const StableInstance&) = delete;

    void* get() const { return component_; }
    // Checked when the plugin was loaded.
    template <class Functions>
    const Functions& functions() const {
        return *static_cast<const Functions*>(entry_.functions);
    }

private:
    const SwitchyardStableComponent& entry_;
    ExecutionToken token_;
    void* component_ = nullptr;
};

// Each calls `entry` and throws what it says went wrong.
Normalization* new_normalization(const SwitchyardStableComponent& entry, const CreateInfo& info);
Linear* new_linear(const SwitchyardStableComponent& entry, const CreateInfo& info);
Attention* new_attention(const SwitchyardStableComponent& entry, const CreateInfo& info);
Optimizer* new_optimizer(const SwitchyardStableComponent& entry, const CreateInfo& info);

}  // namespace switchyard::runtime::stable
