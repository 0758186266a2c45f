// What a device computes is held against the same case on the CPU: the same by its name and shapes.
#include <stdexcept>

#include <switchyard/conformance/cases.h>
#include <switchyard/conformance/twins.h>

#include "component.h"

#include <switchyard_test.h>

using namespace switchyard;
using conformance::OperationCase;

namespace {

template <class Traits>
void check_twins(Traits kind, const test::LocalComponent& component) {
    INFO(name(kind.kind));
    conformance::VerifyOptions on_device, on_cpu;
    on_device.device = Device::cuda;
    const auto& facts = *test::under_test(component).manifest;
    auto cases = conformance::listed_cases(kind, facts, on_device);
    const auto twins = conformance::listed_cases(kind, facts, on_cpu);
    REQUIRE(cases.size() <= twins.size());
    REQUIRE_NOTHROW(conformance::add_twins(cases, twins));
    for (const auto& one : cases) CHECK(one.make_on_cpu);
}

OperationCase named(const std::string& name) {
    OperationCase one;
    one.name = name;
    return one;
}

}  // namespace

TEST_CASE("each case of a device has its twin on the CPU, though a device has fewer") {
    check_twins(KindTraits<Kind::attention>(), test::attention_entry);
    check_twins(KindTraits<Kind::normalization>(), test::normalization_entry);
    check_twins(KindTraits<Kind::activation>(), test::activation_entry);
    check_twins(KindTraits<Kind::loss>(), test::loss_entry);
    check_twins(KindTraits<Kind::linear>(), test::linear_entry);
}

TEST_CASE("twins go by name, in order, and one that is missing is told") {
    std::vector<OperationCase> cases{named("a"), named("c")}, twins{named("a"), named("b"), named("c")};
    twins[2].make = [](const conformance::Variation&) { return conformance::Operation(); };
    conformance::add_twins(cases, twins);
    CHECK_FALSE(cases[0].make_on_cpu);
    CHECK(cases[1].make_on_cpu);
    cases.push_back(named("b"));
    CHECK_THROWS_WITH(conformance::add_twins(cases, twins), "verify: the CPU has no case 'b' in that order");
}
