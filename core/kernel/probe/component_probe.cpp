#include "core/kernel/probe/component_probe.h"

#include <string>
#include <utility>
#include <vector>

#include <switchyard/interfaces/component.h>
#include "core/kernel/config/check_value.h"
#include "core/kernel/probe/forward.h"
#include "core/kernel/probe/requests.h"
#include "core/kernel/runtime/guard.h"
#include "core/kernel/runtime/services.h"

namespace switchyard::loader {

namespace {

std::string title(const ComponentManifest& component) {
    return std::string(name(component.kind)) + " '" + component.id + "'";
}

class ComponentProber {
public:
    ComponentProber(const runtime::LoadedComponent& component, const ProbedHosts& hosts,
                    const EnterPhase& enter)
        : component_(component),
          hosts_(hosts),
          enter_(enter),
          options_(config::default_options(component.manifest->options)) {}

    ComponentProbe run() {
        ComponentProbe probe;
        probe.kind = component_.manifest->kind;
        probe.id = component_.manifest->id;
        try {
            enter(ProbePhase::supports);
            for (const Device device : probed_devices(probe.kind)) {
                for (const DType dtype : probed_dtypes(probe.kind))
                    probe.support.push_back(ask(device, dtype));
            }
            probe.ran = try_forward();
        } catch (const runtime::PluginError& error) {
            probe.failure = ProbeFailure{phase_, title(*component_.manifest), "threw: " + error.text,
                                         "report it to the plugin's vendor"};
        } catch (const WrongAnswer& answer) {
            probe.failure = ProbeFailure{phase_, title(*component_.manifest), answer.text,
                                         "report it to the plugin's vendor"};
        }
        return probe;
    }

private:
    struct WrongAnswer {
        std::string text;
    };

    void enter(ProbePhase phase) {
        phase_ = phase;
        enter_(phase, title(*component_.manifest));
    }
    runtime::CallSite site(const char* call) const {
        return {component_.plugin.c_str(), component_.manifest->id.c_str(), call};
    }

    Verdict supports(const Request& request, const HostInfo& host) const {
        Verdict verdict;
        const SwitchyardSupports arguments{
            sizeof(SwitchyardSupports), &request, &host, &options_, "", &verdict};
        guarded(site("supports"), [&] { component_.entry->supports(&arguments); });
        return verdict;
    }

    // Served if any formula of the kind is, in any form; if none is, the reasons are those of the formula
    // that has the fewest.
    SupportCell ask(Device device, DType dtype) const {
        const Kind kind = component_.manifest->kind;
        const HostInfo& host = device == Device::cuda ? hosts_.cuda : hosts_.here;
        SupportCell cell{device, dtype, false, host.name, {}, {}, {}};
        std::vector<Reason> fewest;
        std::shared_ptr<const Request> served;
        for (const StandardRequest& standard :
             standard_requests(kind, device, dtype, component_.manifest->custom)) {
            Verdict verdict = supports(*standard.request, host);
            if (verdict.ok()) {
                if (!served) served = standard.request;
                // A loss may be asked for twice, for targets of both forms.
                const bool told = !cell.serves.empty() && cell.serves.back() == standard.formula;
                if (!standard.formula.empty() && !told) cell.serves.push_back(standard.formula);
            } else if (fewest.empty() || verdict.reasons.size() < fewest.size()) {
                fewest = std::move(verdict.reasons);
            }
        }
        if (!served) served = in_another_form(device, dtype, host);
        cell.ok = served != nullptr;
        if (served)
            ask_around(*served, host, cell.values);
        else
            cell.reasons = std::move(fewest);
        return cell;
    }

    std::shared_ptr<const Request> in_another_form(Device device, DType dtype, const HostInfo& host) const {
        for (const StandardRequest& other : other_forms(component_.manifest->kind, device, dtype)) {
            if (supports(*other.request, host).ok()) return other.request;
        }
        return nullptr;
    }

    void ask_around(const Request& served, const HostInfo& host, std::vector<ServedValues>& values) const {
        for (const Variation& one : variations(component_.manifest->kind, served)) {
            if (values.empty() || values.back().field != one.field) values.push_back({one.field, {}, {}});
            ServedValues& of = values.back();
            (supports(*one.request, host).ok() ? of.served : of.refused).push_back(one.value);
        }
    }

    bool try_forward() {
        for (const DType dtype : probed_dtypes(component_.manifest->kind)) {
            for (const StandardRequest& standard :
                 tiny_requests(component_.manifest->kind, dtype, component_.manifest->custom)) {
                enter(ProbePhase::supports);
                if (!supports(*standard.request, hosts_.here).ok()) continue;
                forward(*standard.request);
                return true;
            }
        }
        return false;
    }

    void forward(const Request& request) {
        enter(ProbePhase::create);
        CreateInfo info;
        info.request = &request;
        info.options = options_;
        info.host = &hosts_.here;
        info.services = runtime::services();
        runtime::ExecutionCounter counter;
        info.token = &counter;
        void* made = guarded(site("create"), [&] { return component_.entry->create(&info); });
        if (made == nullptr) throw WrongAnswer{"returned no component"};
        // One whose forward fails is asked for nothing more: it is left, and known to be.
        static auto& left = *new std::vector<void*>;
        left.push_back(made);
        enter(ProbePhase::forward);
        const std::string wrong =
            guarded(site("forward"), [&] { return tiny_forward(component_.manifest->kind, made, request); });
        if (!wrong.empty()) throw WrongAnswer{wrong};
        enter(ProbePhase::destroy);
        guarded(site("destroy"), [&] { component_.entry->destroy(made); });
        left.pop_back();
    }

    const runtime::LoadedComponent& component_;
    const ProbedHosts& hosts_;
    const EnterPhase& enter_;
    const Options options_;
    ProbePhase phase_ = ProbePhase::supports;
};

}  // namespace

ComponentProbe probe_component(const runtime::LoadedComponent& component, const ProbedHosts& hosts,
                               const EnterPhase& enter) {
    return ComponentProber(component, hosts, enter).run();
}

}  // namespace switchyard::loader
