// A component of an example plugin (examples/plugins), as tests/support/plugins builds it.
#pragma once

#include <string>

#include "core/kernel/runtime/component_handle.h"
#include "core/kernel/runtime/plugin_library.h"

#include "fixture.h"

#include <switchyard_test.h>

namespace switchyard::test {

// The component that has its plugin's name, made for that request.
template <class Interface>
auto make_example(const std::string& name, const Request& request, const Options& options = {}) {
    static const HostInfo host = machine::this_host(machine::Look::cpu_only);
    runtime::Registry registry(
        loader::discover(only({build_dir() / ("tests/support/plugins/example/lib" + name + ".so")}), host));
    INFO(explain(registry.records()[0]));
    const auto loaded = registry.find(kind_of<Interface>, name, name);
    REQUIRE(loaded.has_value());
    CreateInfo info;
    info.request = &request;
    info.host = &host;
    info.options = options;
    return runtime::create<Interface>(*loaded, info);
}

}  // namespace switchyard::test
