#include "builtin.h"

#include <array>
#include <stdexcept>

#include "core/kernel/config/check_value.h"
#include "core/kernel/loader/discovery.h"
#include "core/kernel/machine/host_info.h"

#include <switchyard_test.h>

namespace switchyard::test {
namespace {

constexpr std::array plugins = {"amp",  "batching", "chunked", "flash",     "fp8",  "fused",
                                "gemm", "int8",     "naive",   "optim8bit", "torch"};

runtime::Registry& registry() {
    static runtime::Registry found([] {
        loader::DiscoveryOptions options;
        options.run_probes = false;
        options.probe_program = (build_dir() / "libexec/switchyard/switchyard-probe").string();
        const auto folder = build_dir() / "lib/switchyard/plugins";
        for (const std::string plugin : plugins)
            options.path.entries.push_back({(folder / ("lib" + plugin + ".so")).string(), "test", true});
        return loader::discover(options, laptop());
    }());
    return found;
}

std::vector<runtime::LoadedComponent> load(const std::string& plugin) {
    const auto* record = registry().find(plugin);
    if (record == nullptr) throw std::runtime_error("plugin '" + plugin + "' was not found");
    auto loaded = registry().load(*record);
    if (loaded.empty()) {
        const auto* failure = record->failure();
        throw std::runtime_error("plugin '" + plugin +
                                 "': " + (failure == nullptr ? "not loaded" : failure->reason));
    }
    return loaded;
}

}  // namespace

std::vector<runtime::LoadedComponent> all_components() {
    std::vector<runtime::LoadedComponent> all;
    for (const auto* plugin : plugins) {
        for (auto& loaded : load(plugin)) all.push_back(std::move(loaded));
    }
    return all;
}

runtime::LoadedComponent component(Kind kind, const std::string& plugin, const std::string& id) {
    for (auto& loaded : load(plugin)) {
        if (loaded.manifest->kind == kind && loaded.manifest->id == id) return loaded;
    }
    throw std::runtime_error("plugin '" + plugin + "' has no " + std::string(name(kind)) + " '" + id + "'");
}

const HostInfo& laptop() {
    static const HostInfo host = [] {
        HostInfo made;
        made.name = "laptop";
        made.cores = 2;
        // By which components choose how they compute, here.
        made.cpu_features = machine::this_host(machine::Look::cpu_only).cpu_features;
        return made;
    }();
    return host;
}

bool needs_a_device(const runtime::LoadedComponent& loaded) {
    return loaded.manifest->id == "tf32" || loaded.manifest->id == "fp8";
}

const HostInfo& h100() {
    static const HostInfo host = [] {
        HostInfo made = laptop();
        made.name = "h100";
        made.described = true;
        DeviceInfo device;
        device.compute_capability = 90;
        made.devices.push_back(device);
        return made;
    }();
    return host;
}

Options default_options(const runtime::LoadedComponent& loaded) {
    return config::default_options(loaded.manifest->options);
}

std::string refusals(const runtime::LoadedComponent& loaded, const Request& request, const HostInfo& host,
                     const std::string& variant, const Options& changed) {
    Options options = default_options(loaded);
    for (const auto& [name, value] : changed.values()) options.set(name, value);
    std::string text;
    for (const auto& reason : runtime::supports(loaded, request, host, options, variant).reasons) {
        text += (text.empty() ? "" : "\n") + reason.field + ": expected " + reason.expected + ", got " +
                reason.got;
    }
    return text;
}

}  // namespace switchyard::test
