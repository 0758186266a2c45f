// Loading into this process: what a descriptor must be, init, and the Registry.
#include <atomic>
#include <thread>
#include <vector>

#include <ATen/ops/full.h>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/attention.h>
#include "core/kernel/loader/descriptor_check.h"
#include "core/kernel/runtime/component_handle.h"
#include "core/kernel/runtime/plugin_library.h"

#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::loader;
using namespace switchyard::machine;
using namespace switchyard::runtime;
using namespace switchyard::test;

namespace {

const SwitchyardPlugin& good_descriptor() {
    static const LoadedPlugin plugin = load_plugin(good_plugin(), *judged(good_plugin()).manifest);
    REQUIRE(plugin.descriptor != nullptr);
    return *plugin.descriptor;
}

std::string problem_of(const SwitchyardPlugin& descriptor) {
    const GateOutcome outcome = check_descriptor(descriptor, *judged(good_plugin()).manifest);
    CHECK(outcome.gate == Gate::descriptor);
    return outcome.passed ? "" : outcome.reason + " (" + outcome.expected + ", " + outcome.got + ")";
}

}  // namespace

TEST_CASE("a plugin loads, and its descriptor is what its manifest announced") {
    CHECK(problem_of(good_descriptor()).empty());
    CHECK(good_descriptor().component_count == 5);
    const LoadedPlugin again = load_plugin(good_plugin(), *judged(good_plugin()).manifest);
    CHECK(again.descriptor == &good_descriptor());
    REQUIRE(again.gates.size() == 3);
    CHECK(again.gates[2].gate == Gate::init);
}

TEST_CASE("a descriptor that cannot be used is told by what is wrong with it") {
    const SwitchyardPlugin good = good_descriptor();
    SwitchyardPlugin plugin = good;
    plugin.magic = 1;
    CHECK(problem_of(plugin) ==
          "what it exports as switchyard_plugin_v1 is not a plugin's descriptor (SWYPLNV1 at its beginning, "
          "something else)");
    plugin = good;
    plugin.abi_major = 2;
    CHECK(problem_of(plugin) == "its descriptor is of another version of the plugin interface (1.0, 2.0)");
    plugin = good;
    plugin.abi_minor = SWITCHYARD_ABI_MINOR + 1;
    CHECK(problem_of(plugin) == "its descriptor is of another version of the plugin interface (1.0, 1.1)");
    plugin = good;
    plugin.struct_size = 16;
    CHECK(problem_of(plugin) ==
          "its descriptor is smaller than this version of the interface has it (40, 16)");
}

TEST_CASE("components that are not those of the manifest are told") {
    const SwitchyardPlugin good = good_descriptor();
    SwitchyardPlugin plugin = good;
    plugin.component_count = 4;
    CHECK(problem_of(plugin) == "its descriptor has another number of components than its manifest (5, 4)");
    plugin = good;
    plugin.components = nullptr;
    CHECK(problem_of(plugin) == "its descriptor lacks its components (a list, a null pointer)");

    SwitchyardComponent first = *good.components[0];
    const SwitchyardComponent* components[] = {&first, good.components[1], good.components[2],
                                               good.components[3], good.components[4]};
    plugin = good;
    plugin.components = components;
    CHECK(problem_of(plugin).empty());
    first.id = "another";
    CHECK(problem_of(plugin) ==
          "component[0] is not the one that its manifest names (attention 'by_kernel', attention 'another')");
    first = *good.components[0];
    first.kind = "loss";
    CHECK(problem_of(plugin) ==
          "component[0] is not the one that its manifest names (attention 'by_kernel', loss 'by_kernel')");
    first.kind = nullptr;
    CHECK_THAT(problem_of(plugin), contains("component[0] lacks its kind or id"));
    first = *good.components[0];
    first.create = nullptr;
    CHECK_THAT(problem_of(plugin), contains("component[0] lacks supports, create or destroy"));
    first = *good.components[0];
    first.struct_size = 8;
    CHECK_THAT(problem_of(plugin), contains("component[0] is smaller than this version"));
    components[0] = nullptr;
    CHECK(problem_of(plugin) == "component[0] is a null pointer (attention 'by_kernel', null)");
}

TEST_CASE("a library that cannot be loaded says why") {
    const LoadedPlugin plugin =
        load_plugin(bad_plugin("lacks_symbol"), *judged(bad_plugin("lacks_symbol")).manifest);
    CHECK(plugin.descriptor == nullptr);
    REQUIRE(plugin.gates.size() == 1);
    CHECK(plugin.gates[0].gate == Gate::load);
    CHECK(plugin.gates[0].reason ==
          "needs the symbol somewhere::not_there(int), which no library that it names has");
}

TEST_CASE("an init that refuses is asked once, and its words are passed on") {
    const LoadedPlugin plugin =
        load_plugin(bad_plugin("refuses_init"), *judged(bad_plugin("refuses_init")).manifest);
    CHECK(plugin.descriptor == nullptr);
    REQUIRE(plugin.gates.size() == 3);
    CHECK(plugin.gates[2].gate == Gate::init);
    CHECK(plugin.gates[2].reason == "the licence has run out");
}

TEST_CASE("the registry loads a plugin when a component of it is asked for") {
    DiscoveryOptions options = only({good_plugin(), bad_plugin("lacks_library")});
    options.run_probes = false;
    Registry registry(discover(options, this_host(Look::cpu_only)));
    REQUIRE(registry.records().size() == 2);
    CHECK(registry.records()[0].gates.back().gate == Gate::cpu_features);
    const auto kernel = registry.find(Kind::attention, "test_good", "by_kernel");
    REQUIRE(kernel.has_value());
    CHECK(kernel->plugin == "test_good");
    CHECK(kernel->library_path == good_plugin());
    CHECK(kernel->manifest->priority == 10);
    CHECK(std::string(kernel->entry->id) == "by_kernel");
    CHECK(registry.records()[0].gates.back().gate == Gate::init);
    CHECK(registry.load(registry.records()[0]).size() == 5);
    CHECK(registry.records()[0].gates.size() == 10);
    CHECK_FALSE(registry.find(Kind::loss, "test_good", "by_kernel").has_value());
    CHECK_FALSE(registry.find(Kind::attention, "nobody", "by_kernel").has_value());
    CHECK_FALSE(registry.find(Kind::activation, "test_lacks_library", "relu").has_value());
    const GateOutcome* lacking = registry.find("test_lacks_library")->failure();
    REQUIRE(lacking != nullptr);
    CHECK(lacking->gate == Gate::load);
    CHECK(lacking->reason == "needs libtest_lacking.so, which was not found");
}

// What is wrong with that is seen with thread sanitizer (`./dev test --preset tsan -R '^loader$'`).
TEST_CASE("threads find components and plugins while others load them") {
    DiscoveryOptions options = only({good_plugin(), bad_plugin("lacks_library"), bad_plugin("refuses_init")});
    options.run_probes = false;
    const auto records = discover(options, this_host(Look::cpu_only));
    constexpr int repeats = 20, number_of_threads = 4;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        Registry registry(records);
        std::atomic<int> found = 0;
        std::vector<std::thread> threads;
        for (int i = 0; i < number_of_threads; ++i) {
            threads.emplace_back([&] {
                found += registry.find(Kind::attention, "test_good", "by_kernel").has_value() ? 1 : 0;
                found += registry.find(Kind::activation, "test_lacks_library", "relu").has_value() ? 1 : 0;
                found += registry.find("test_refuses_init") != nullptr ? 1 : 0;
            });
        }
        for (auto& thread : threads) thread.join();
        CHECK(found == 2 * number_of_threads);
        CHECK(registry.records()[0].gates.size() == 10);
    }
}

TEST_CASE("a component of a loaded plugin answers") {
    DiscoveryOptions options = only({good_plugin()});
    options.run_probes = false;
    const HostInfo host = this_host(Look::cpu_only);
    Registry registry(discover(options, host));
    const auto loaded = registry.find(Kind::activation, "test_good", "by_autograd");
    REQUIRE(loaded.has_value());
    ActivationRequest request;
    request.activation = ActivationKind::relu;
    CHECK(supports(*loaded, request, host, {}, "").ok());
    request.device = Device::cuda;
    const Verdict verdict = supports(*loaded, request, host, {}, "");
    REQUIRE(verdict.reasons.size() == 1);
    CHECK(verdict.reasons[0].expected == "cpu");
    request.device = Device::cpu;
    CreateInfo info;
    info.request = &request;
    info.host = &host;
    const auto activation = create<Activation>(*loaded, info);
    const at::Tensor x = at::full({2, 3}, -2.0);
    ActivationParams params;
    params.activation = ActivationKind::relu;
    CHECK(activation->forward({x, {}}, params, nullptr).sum().item<float>() == 0.0F);
}
