// Every component of all plugins, held to its contract by the suite that a plugin's author runs. A new
// component or kind is held as soon as it is there; to hold a variant by name, or options that are no
// defaults, add them to the last two cases.
#include "builtin.h"

#include <algorithm>

#include <switchyard/conformance/verify.h>

#include <faults.h>
#include <switchyard_test.h>

using namespace switchyard;
using test::faults;

namespace {

conformance::Report verify(const runtime::LoadedComponent& loaded, const conformance::VerifyOptions& options,
                           const std::string& variant = "", const Options& changed = {}) {
    Options component = test::default_options(loaded);
    for (const auto& [name, value] : changed.values()) component.set(name, value);
    return conformance::verify(
        {loaded.plugin, loaded.entry, loaded.manifest, &test::laptop(), component, variant}, options);
}

}  // namespace

TEST_CASE("every component is what its contract says, in every dtype that it serves") {
    for (const auto& loaded : test::all_components()) {
        if (test::needs_a_device(loaded)) continue;
        const auto report = verify(loaded, {});
        INFO(name(loaded.manifest->kind) << " " << report.component);
        CHECK(faults(report) == "");
        const Kind kind = loaded.manifest->kind;
        const bool one_layout = kind == Kind::data_loader && loaded.plugin == "batching";
        // Almost all cases of policies are of training.
        const bool trains = loaded.manifest->id != "fp16_pure";
        CHECK(report.cases > (kind == Kind::precision ? (trains ? 30 : 0) : one_layout ? 50 : 100));
        // torch's optimizers are those that LibTorch has: neither Lion nor LAMB nor Muon. The policies store
        // float32, and scale no loss. flash and fused have no float64. Who multiplies dense operands does not
        // serve scaled ones. Each loader of batching has one layout.
        if (kind != Kind::optimizer && kind != Kind::precision && kind != Kind::linear && !one_layout)
            CHECK(report.skipped < report.cases / 2);
    }
}

TEST_CASE("variants that can be asked for by name are held, too") {
    const auto loaded = test::component(Kind::attention, "torch", "torch");
    for (const std::string variant : {"math", "flash"}) {
        conformance::VerifyOptions options;
        options.dtypes = {DType::float32, DType::bfloat16};
        const auto report = verify(loaded, options, variant);
        INFO(variant);
        CHECK(faults(report) == "");
        CHECK(report.cases > 100);
    }
}

TEST_CASE("chunked attention is right whatever the chunks") {
    const auto loaded = test::component(Kind::attention, "chunked", "chunked");
    for (const auto& [queries, keys] : {std::pair<std::int64_t, std::int64_t>{5, 0}, {33, 7}}) {
        Options options;
        options.set("chunk_size", queries);
        options.set("key_chunk_size", keys);
        conformance::VerifyOptions verified;
        verified.dtypes = {DType::float32};  // what depends on the dtype is held with the usual chunks
        const auto report = verify(loaded, verified, "", options);
        INFO("chunks of " << queries << " queries and " << keys << " keys");
        CHECK(faults(report) == "");
        CHECK(report.cases > 100);
    }
}

// The component's own bound, 10 %, is for what is left out here: Lion's sign of a moment near 0, with which
// a weight that began at 0 goes the other way, and thousands of steps in 16 bits without master weights.
TEST_CASE("8-bit AdamW stays within 5 %, and 8-bit Lion where its weights do not begin at 0") {
    const auto loaded = test::component(Kind::optimizer, "optim8bit", "optim8bit");
    REQUIRE(loaded.manifest->accuracy_bound == 0.1);
    ComponentManifest held = *loaded.manifest;
    held.accuracy_bound = 0.05;
    for (const std::string algorithm : {"adamw", "lion"}) {
        conformance::VerifyOptions options;
        options.filter = "optimizer/" + algorithm + "/";
        options.drawn = 60;
        const auto report = conformance::verify(
            {loaded.plugin, loaded.entry, &held, &test::laptop(), test::default_options(loaded), ""},
            options);
        INFO(options.filter);
        CHECK(report.cases > 100);
        for (const auto& fault : report.faults) {
            INFO(fault.code << " in " << fault.where << ": " << fault.detail);
            const bool begins_at_zero = fault.where.find("/zero_weights/") != std::string::npos ||
                                        fault.where.find("/start0/") != std::string::npos;
            CHECK((algorithm == "lion" && fault.code == "wrong_update" && begins_at_zero));
        }
    }
}
