// What every component is, and what it gets when it is made.
//
// A component is created once per binding (slot, phase, range of shapes) by its plugin's `create`, used from
// one thread at a time, and destroyed by its plugin's `destroy`. It owns no global state; tensors that it
// keeps live as long as it does. It may throw anything: the core's guard turns it into an error that names
// plugin, component and call.
#pragma once

#include <string>
#include <string_view>

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/options.h>
#include <switchyard/interfaces/plugin_abi.h>

namespace switchyard {

struct CreateInfo {
    // The one that `supports` said yes to: an AttentionRequest for an attention, ...
    const Request* request = nullptr;
    std::string variant;             // the one asked for ("flash@split_kv"), empty: the component chooses
    Options options;                 // defaults filled in, checked
    const HostInfo* host = nullptr;  // valid for the life of the process
    const SwitchyardServices* services = nullptr;  // likewise
    void* token = nullptr;                         // names this binding to the services

    Device device() const { return request == nullptr ? Device::cpu : request->device; }
};

class Component {
public:
    explicit Component(const CreateInfo& info) : services_(info.services), token_(info.token) {}
    virtual ~Component() = default;
    Component(const Component&) = delete;
    Component& operator=(const Component&) = delete;

    // A later interface of the same component, asked for by its id ("attention.2"), or nullptr. The first
    // interfaces never change; what comes later is found here.
    virtual void* query(std::string_view /*interface_id*/) { return nullptr; }

protected:
    // Call it where a kernel really runs, with the variant that ran (one of those in plugin.toml, or "" where
    // there are none): what `executed` shows in reports is counted here and nowhere else. The text must live
    // as long as the plugin (a literal).
    void executed(const char* variant = "") const {
        if (services_ != nullptr) services_->executed(token_, variant);
    }

private:
    const SwitchyardServices* services_;
    void* token_;
};

}  // namespace switchyard
