// One component bound to one use of a model: made once, called many times.
//
// Holds what every call needs - the component, its names for messages and crashes, how it is differentiated -
// and what is known about it afterwards: how often which variant ran. Calls into one component never overlap,
// whichever threads they come from. The registry that the component is of outlives it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/kernel/runtime/call_timer.h"
#include "core/kernel/runtime/component_handle.h"
#include "core/kernel/runtime/guard.h"
#include "core/kernel/runtime/services.h"

namespace switchyard::runtime {

struct BindingInfo {
    std::string slot;                        // "attention.cross", for messages
    std::shared_ptr<const Request> request;  // of the component's kind; what it is created for
    std::string variant;                     // empty: the component chooses
    Options options;
    const HostInfo* host = nullptr;  // must outlive the binding
};

// What does not depend on the interface.
class BindingBase {
public:
    BindingBase(const BindingBase&) = delete;
    BindingBase& operator=(const BindingBase&) = delete;

    const std::string& plugin() const { return plugin_; }
    const std::string& component() const { return component_; }
    const std::string& slot() const { return info_.slot; }
    const Request& request() const { return *info_.request; }
    GradientMode gradient() const { return gradient_; }
    RandomSource random() const { return random_; }
    ExecutionCounter& executed() const { return counter_; }

    // `call` is a literal.
    CallSite site(const char* call) const { return {plugin_.c_str(), component_.c_str(), call}; }
    // "attention.cross (plugin 'flash', component 'flash')", for errors that are not the plugin's.
    std::string describe() const;

    // Runs `call` under the guard, after what runs in this component on other threads.
    template <class Call>
    decltype(auto) run(const char* name, Call&& call) const {
        const std::lock_guard<std::mutex> lock(mutex_);
        const TimedScope timed(*this, name);
        return guarded(site(name), std::forward<Call>(call));
    }

    // What the component answers to a question of <switchyard/interfaces/component_property.h>; nullptr:
    // nothing.
    const char* answer(std::string_view question) const { return static_cast<const char*>(query(question)); }

protected:
    BindingBase(const LoadedComponent& loaded, BindingInfo info);
    virtual ~BindingBase() = default;
    CreateInfo create_info() const;
    const LoadedComponent& loaded() const { return *loaded_; }
    virtual void* query(std::string_view interface_id) const = 0;

private:
    std::shared_ptr<const LoadedComponent> loaded_;
    std::string plugin_;
    std::string component_;
    GradientMode gradient_;
    RandomSource random_;
    BindingInfo info_;
    mutable ExecutionCounter counter_;
    mutable std::mutex mutex_;
};

template <class Interface>
class Binding final : public BindingBase {
public:
    Binding(const LoadedComponent& loaded, BindingInfo info)
        : BindingBase(loaded, std::move(info)), handle_(create<Interface>(loaded, create_info())) {}

    // For what a component is told once: at first the one that was made with the binding, after that another
    // in its place; the one before is then gone. Not during a call.
    Interface& fresh() {
        if (used_) handle_ = create<Interface>(loaded(), create_info());
        used_ = true;
        return *handle_;
    }

    Interface& interface() const { return *handle_; }
    const auto& request() const { return KindTraits<kind_of<Interface>>::request(BindingBase::request()); }

private:
    void* query(std::string_view interface_id) const override {
        return run("query", [&] { return handle_->query(interface_id); });
    }

    Handle<Interface> handle_;
    bool used_ = false;  // by fresh()
};

}  // namespace switchyard::runtime
