// Every component that serves the CPU on configurations drawn by chance, each held against the float64
// reference as `switchyard plugins verify` does, and every optimizer over a long run.
//
//     ./dev test -R sweeps                            a tenth, always the same
//     SWITCHYARD_SWEEPS=whole ./dev test -R sweeps    all of it, drawn anew; SWITCHYARD_SWEEPS_SEED=N repeats
//       it, SWITCHYARD_SWEEPS_PLUGIN=NAME is of one plugin alone
//
// To sweep a kind more: its line below. A case that a sweep found wrong joins those that stay right. What is
// drawn: drawn_case in sdk/conformance.
#include "builtin.h"

#include <cstdlib>
#include <iostream>
#include <random>

#include <switchyard/conformance/verify.h>

#include <faults.h>
#include <switchyard_test.h>

using namespace switchyard;

namespace {

struct Extent {
    bool whole = false;
    std::uint64_t seed = 1;
    std::string plugin;  // empty: all
    // Of a count of the whole.
    std::int64_t of(std::int64_t count) const { return whole ? count : count / 10; }
};

const Extent& extent() {
    static const Extent chosen = [] {
        Extent made;
        const char* how = std::getenv("SWITCHYARD_SWEEPS");
        const char* seed = std::getenv("SWITCHYARD_SWEEPS_SEED");
        made.whole = how != nullptr && std::string(how) == "whole";
        if (made.whole) made.seed = std::random_device()();
        if (seed != nullptr) made.seed = std::stoull(seed);
        const char* plugin = std::getenv("SWITCHYARD_SWEEPS_PLUGIN");
        made.plugin = plugin == nullptr ? "" : plugin;
        std::cout << "sweeps: " << (made.whole ? "the whole" : "a tenth") << ", seed " << made.seed
                  << std::endl;
        return made;
    }();
    return chosen;
}

// All components of the kind; `least` of the drawn cases, at least, each of them has to serve.
void sweep(Kind kind, const conformance::VerifyOptions& options, std::int64_t least) {
    std::int64_t components = 0;
    for (const auto& loaded : test::all_components()) {
        if (loaded.manifest->kind != kind || test::needs_a_device(loaded)) continue;
        if (!extent().plugin.empty() && loaded.plugin != extent().plugin) continue;
        const auto report = conformance::verify({loaded.plugin, loaded.entry, loaded.manifest,
                                                 &test::laptop(), test::default_options(loaded), ""},
                                                options);
        INFO(report.component << ", seed " << options.drawn_seed);
        CHECK(test::faults(report) == "");
        // Hardly any case that is drawn can be one of these two: some are given up.
        const bool narrow = loaded.manifest->id == "fp16_pure" || loaded.manifest->id == "static";
        CHECK(report.cases >= (narrow ? least * 3 / 4 : least));
        std::cout << "  " << name(kind) << " " << report.component << ": " << report.cases
                  << " cases, closest to its allowance: " << report.worst_ratio << " of it in "
                  << report.worst_case << std::endl;
        ++components;
    }
    CHECK((components > 0 || !extent().plugin.empty()));
}

void sweep_drawn(Kind kind, std::int64_t whole) {
    conformance::VerifyOptions options;
    options.filter = "/drawn/";
    options.drawn = extent().of(whole);
    options.drawn_seed = extent().seed;
    sweep(kind, options, options.drawn);
}

}  // namespace

TEST_CASE("1500 drawn attentions of every component are as near to float64 as the reference") {
    sweep_drawn(Kind::attention, 1500);
}

TEST_CASE("drawn cases that whole sweeps found wrong stay right") {
    struct Found {
        Kind kind;
        std::uint64_t seed;
        std::int64_t number;
    };
    // flash's dense bias: the product of output and gradient was summed one term after the other.
    for (const Found& found : {Found{Kind::attention, 1755932744, 1240}}) {
        conformance::VerifyOptions options;
        options.filter = "/drawn/" + std::to_string(found.number) + "/";
        options.drawn = found.number + 1;
        options.drawn_seed = found.seed;
        sweep(found.kind, options, 1);
    }
}

TEST_CASE("400 drawn normalizations of every component are as near to float64 as the reference") {
    sweep_drawn(Kind::normalization, 400);
}

TEST_CASE("400 drawn activations of every component are as near to float64 as the reference") {
    sweep_drawn(Kind::activation, 400);
}

TEST_CASE("400 drawn linear layers of every component are as near to float64 as the reference") {
    sweep_drawn(Kind::linear, 400);
}

TEST_CASE("400 drawn losses of every component are as near to float64 as the reference") {
    sweep_drawn(Kind::loss, 400);
}

TEST_CASE("drawn optimizers, policies and data loaders are what the reference is") {
    for (const Kind kind : {Kind::optimizer, Kind::precision, Kind::data_loader}) sweep_drawn(kind, 200);
}

TEST_CASE(
    "every optimizer stays as near to float64 as the reference up to step 3000, at three learning rates") {
    conformance::VerifyOptions options;
    options.filter = "/long/";
    options.long_run = extent().of(3000);
    options.dtypes = {DType::float32};
    if (extent().whole) options.dtypes.push_back(DType::bfloat16);
    sweep(Kind::optimizer, options, 3);
}
