// Entries for components that live in this test instead of a plugin, with an option "mutation" that makes them wrong in one way.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <switchyard/conformance/verify.h>
#include <switchyard/interfaces/component.h>
#include <switchyard/sdk/plugin.h>

namespace switchyard::test {

// What is wrong with a component on purpose; empty: nothing.
class Mutation {
public:
    explicit Mutation(const CreateInfo& info) : name_(info.options.string("mutation")) {}
    bool is(const char* name) const { return name_ == name; }

private:
    std::string name_;
};

inline const HostInfo& test_host() {
    static const HostInfo host;
    return host;
}

inline conformance::ComponentUnderTest under_test(const SwitchyardComponent& entry,
                                                  const std::string& mutation = "") {
    conformance::ComponentUnderTest component{"test", &entry, &test_host(), {}, ""};
    component.options.set("mutation", mutation);
    return component;
}

constexpr sdk::ComponentFacts facts(const char* gradient, const char* random, const char* variants = "") {
    return {"sample", "a component of the tests", variants, 0, gradient, random, "exact", 0.0, "{}"};
}

// The entries, one a kind; each in the file of its name.
extern const SwitchyardComponent attention_entry, normalization_entry, activation_entry, loss_entry,
    optimizer_entry, data_loader_entry, precision_entry;

}  // namespace switchyard::test
