#include "core/kernel/runtime/component_handle.h"

#include <array>
#include <stdexcept>

#include "core/kernel/base/log.h"
#include "core/kernel/base/stdout_redirect.h"
#include "core/kernel/runtime/guard.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/kernel/runtime/services.h"

namespace switchyard::runtime {
namespace {

struct CallNames {
    const char* create;
    const char* destroy;
    const char* supports;
};

// In the order of Kind; literals, for a CallSite is read in signal handlers.
#define SWITCHYARD_CALLS(name, ...) {#name ".create", #name ".destroy", #name ".supports"},
constexpr std::array<CallNames, names<Kind>.size()> call_names{{SWITCHYARD_KINDS(SWITCHYARD_CALLS)}};
#undef SWITCHYARD_CALLS

const CallNames& names_of(Kind kind) { return call_names.at(static_cast<std::size_t>(kind)); }

const CallNames& names_of(const SwitchyardComponent& entry) {
    return names_of(parse<Kind>(entry.kind).value_or(Kind::attention));
}

}  // namespace

void Destroyer::operator()(void* component) const noexcept {
    const base::StdoutRedirect aside;
    try {
        guarded({plugin_.c_str(), entry_->id, names_of(*entry_).destroy},
                [&] { entry_->destroy(component); });
    } catch (const std::exception& error) {
        log::error(error.what());
    }
}

Destroyer destroyer_of(const LoadedComponent& loaded) { return {loaded.plugin, loaded.entry}; }

void* create_component(const LoadedComponent& loaded, Kind kind, CreateInfo info) {
    if (loaded.manifest->kind != kind) {
        throw std::invalid_argument("plugin '" + loaded.plugin + "', component '" + loaded.manifest->id +
                                    "' is of kind " + std::string(name(loaded.manifest->kind)) +
                                    ", expected " + std::string(name(kind)));
    }
    info.services = services();
    const CallSite site{loaded.plugin.c_str(), loaded.manifest->id.c_str(), names_of(kind).create};
    const base::StdoutRedirect aside;
    void* const component = guarded(site, [&] { return loaded.entry->create(&info); });
    if (component == nullptr) throw PluginError(site, "returned no component");
    return component;
}

Verdict supports(const LoadedComponent& loaded, const Request& request, const HostInfo& host,
                 const Options& options, const std::string& variant) {
    Verdict verdict;
    const SwitchyardSupports arguments{
        sizeof(SwitchyardSupports), &request, &host, &options, variant.c_str(), &verdict};
    const CallSite site{loaded.plugin.c_str(), loaded.manifest->id.c_str(),
                        names_of(loaded.manifest->kind).supports};
    const base::StdoutRedirect aside;
    try {
        guarded(site, [&] { loaded.entry->supports(&arguments); });
    } catch (const PluginError& error) {
        verdict.reject(Code::Internal, "supports", "an answer", error.what(),
                       "this is a bug in the plugin; choose another backend");
    }
    return verdict;
}

}  // namespace switchyard::runtime
