// A component that lives in a test instead of a plugin: its entry, and what a plugin.toml would say of it.
#pragma once

#include <string>
#include <vector>

#include <switchyard/conformance/verify.h>
#include <switchyard/interfaces/component_manifest.h>
#include <switchyard/sdk/plugin.h>

namespace switchyard::test {

struct LocalComponent {
    SwitchyardComponent entry;
    ComponentManifest manifest;

    conformance::ComponentUnderTest under_test(const HostInfo& host, Options options = {}) const {
        return {"test", &entry, &manifest, &host, std::move(options), ""};
    }
};

template <Kind kind, class Class>
LocalComponent local_component(GradientMode gradient, RandomSource random,
                               std::vector<std::string> variants = {}) {
    LocalComponent made{sdk::component<kind, Class>("local"), {}};
    made.manifest.kind = kind;
    made.manifest.id = "local";
    made.manifest.gradient = gradient;
    made.manifest.random = random;
    made.manifest.variants = std::move(variants);
    return made;
}

}  // namespace switchyard::test
