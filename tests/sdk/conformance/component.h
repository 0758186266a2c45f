// Components that live in this test instead of a plugin, with an option "mutation" that makes them wrong in
// one way.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <switchyard/interfaces/component.h>

#include <local_component.h>

namespace switchyard::test {

// What is wrong with a component on purpose: "reads_before", or several as "reads_before+slope_off"; empty:
// nothing.
class Mutation {
public:
    explicit Mutation(const CreateInfo& info) : names_("+" + info.options.string("mutation") + "+") {}
    bool is(const char* name) const {
        return names_.find("+" + std::string(name) + "+") != std::string::npos;
    }

private:
    std::string names_;
};

inline const HostInfo& test_host() {
    static const HostInfo host;
    return host;
}

inline conformance::ComponentUnderTest under_test(const LocalComponent& sample,
                                                  const std::string& mutation = "") {
    Options options;
    options.set("mutation", mutation);
    return sample.under_test(test_host(), options);
}

inline LocalComponent with_formula_of_its_own(LocalComponent component) {
    component.manifest.custom = {"sample"};
    return component;
}

// One component a kind, each in the file of its name.
extern const LocalComponent attention_entry, normalization_entry, activation_entry, loss_entry,
    optimizer_entry, data_loader_entry, own_loader_entry, precision_entry, linear_entry;

// Those of the same name, with a formula of their own: "sample".
extern const LocalComponent own_activation_entry, own_loss_entry;

}  // namespace switchyard::test
