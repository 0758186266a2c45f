// Every component of all plugins, held to its contract by the suite that a plugin's author runs. A new component or kind is held as soon as it
// is there; to hold a variant by name, or options that are no defaults, add them to the last two cases.
#include "builtin.h"

#include <algorithm>

#include <switchyard/conformance/verify.h>

#include <faults.h>
#include <switchyard_test.h>

using namespace switchyard;
using test::faults;

namespace {

conformance::Report verify(const host::LoadedComponent& loaded, const conformance::VerifyOptions& options,
                           const std::string& variant = "", const Options& changed = {}) {
    Options component = test::default_options(loaded);
    for (const auto& [name, value] : changed.values()) component.set(name, value);
    return conformance::verify({loaded.plugin, loaded.entry, &test::laptop(), component, variant}, options);
}

}  // namespace

TEST_CASE("every component is what its contract says, in every dtype that it serves") {
    for (const auto& loaded : test::all_components()) {
        if (test::needs_a_device(loaded)) continue;
        const auto report = verify(loaded, {});
        INFO(name(loaded.manifest->kind) << " " << report.component);
        CHECK(faults(report) == "");
        const Kind kind = loaded.manifest->kind;
        CHECK(report.cases > (kind == Kind::precision ? 60 : 100));
        // torch's optimizers are those that LibTorch has: neither Lion nor LAMB nor Muon. The policies store float32, and scale no loss. flash and fused have no float64.
        if (kind != Kind::optimizer && kind != Kind::precision) CHECK(report.skipped < report.cases / 2);
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
        verified.dtypes = {DType::float32, DType::bfloat16};
        const auto report = verify(loaded, verified, "", options);
        INFO("chunks of " << queries << " queries and " << keys << " keys");
        CHECK(faults(report) == "");
        CHECK(report.cases > 100);
    }
}
