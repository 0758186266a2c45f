// Right components pass, and what the harness itself promises: cases of unique names, the same data for the
// same seed, skips with reasons.
// To add a kind: write a right component for it in a file of its own, and a test case here; its mutants go to
// mutants_test.cpp.
#include <set>
#include <stdexcept>

#include "component.h"
#include "mutants.h"

#include <switchyard_test.h>

using namespace switchyard;
using conformance::Report;
using conformance::VerifyOptions;
using test::LocalComponent;

namespace {

Report run(const LocalComponent& sample, const VerifyOptions& options, const std::string& mutation = "") {
    return conformance::verify(test::under_test(sample, mutation), options);
}

void expect_right(const LocalComponent& sample, std::int64_t least_cases) {
    VerifyOptions options;
    options.dtypes = test::two_dtypes;
    const Report report = run(sample, options);
    for (const auto& fault : report.faults)
        FAIL_CHECK(fault.code << " " << fault.where << ": " << fault.detail);
    INFO("worst " << report.worst_ratio << " " << report.worst_case);
    CHECK(report.ok());
    CHECK(report.skipped == 0);
    CHECK(report.cases >= least_cases);
}

}  // namespace

TEST_CASE("a right attention passes every case") { expect_right(test::attention_entry, 400); }
TEST_CASE("a right normalization passes every case") { expect_right(test::normalization_entry, 400); }
TEST_CASE("a right activation passes every case") { expect_right(test::activation_entry, 650); }
TEST_CASE("a right loss passes every case") { expect_right(test::loss_entry, 200); }

TEST_CASE("no two cases have one name") {
    for (const auto* sample :
         {&test::attention_entry, &test::normalization_entry, &test::activation_entry, &test::loss_entry}) {
        LocalComponent named = *sample;  // names are wanted, not what the cases find: each ends as it begins
        named.entry.create = [](const void*) -> void* { throw std::runtime_error("not wanted"); };
        std::set<std::string> names;
        VerifyOptions options;
        options.dtypes = {DType::float32};
        options.on_case = [&](const std::string& name) {
            INFO(name);
            CHECK(names.insert(name).second);
        };
        const Report report = run(named, options);
        CHECK(report.cases == static_cast<std::int64_t>(names.size()));
        CHECK(names.size() > 100);
    }
}

TEST_CASE("the same seed gives the same errors to the last digit, another seed gives others") {
    VerifyOptions options;
    options.filter = "causal/mask/f32";
    const double first = run(test::attention_entry, options).worst_ratio;
    CHECK(run(test::attention_entry, options).worst_ratio == first);
    options.seed = 2;
    CHECK(run(test::attention_entry, options).worst_ratio != first);
}

TEST_CASE("what supports refuses is skipped and counted with its reason") {
    VerifyOptions options;
    options.filter = "head_dim/f32";
    const Report report = run(test::attention_entry, options, "refuses_head_dim");
    CHECK(report.faults.empty());
    CHECK(report.cases == 15);  // with the one that is run again and again
    CHECK(report.skipped == 4);
    CHECK(report.skip_reasons ==
          std::map<std::string, std::int64_t>{{"head_dim: expected a multiple of 8, got 1", 1},
                                              {"head_dim: expected a multiple of 8, got 513", 2},
                                              {"head_dim: expected a multiple of 8, got 7", 1}});
}

TEST_CASE("a component without offsets, a scale of its own and log-sum-exps is asked for none of them") {
    VerifyOptions options;
    options.dtypes = {DType::float32};
    options.filter = "causal";
    options.drawn = 60;
    const Report report = run(test::attention_entry, options, "takes_only_defaults");
    INFO(test::codes_of(report));
    CHECK(report.faults.empty());
    CHECK(report.cases > 100);
    for (const std::string field : {"query_offsets", "custom_scale", "want_lse"}) {
        INFO(field);
        CHECK(report.skip_reasons.count(field + ": expected false, got true") == 1);
    }
    // The same cases, all of them, where it is not refused: then they do come.
    CHECK(run(test::attention_entry, options).skipped == 0);
}

TEST_CASE("a supports that throws is a refusal that says so") {
    VerifyOptions options;
    options.filter = "head_dim/f32";
    const Report report = run(test::attention_entry, options, "supports_throws");
    CHECK(report.cases == 0);
    CHECK_FALSE(report.ok());
    CHECK(report.skip_reasons.begin()->first ==
          "supports: expected an answer, got something that is no std::exception");
}

TEST_CASE("a run stops after as many faults as asked for") {
    VerifyOptions options;
    options.max_faults = 1;
    const Report report = run(test::attention_entry, options, "missing_scale");
    CHECK(report.failed == 1);
    CHECK(report.cases == 1);
}

TEST_CASE("a reduced component is held to its own bound") {
    LocalComponent reduced = test::attention_entry;
    reduced.manifest.accuracy = Accuracy::reduced;
    reduced.manifest.accuracy_bound = 0.05;
    VerifyOptions options;
    options.filter = "none/mask/bf16";
    CHECK(run(reduced, options, "accumulates_in_storage_dtype").faults.empty());
    reduced.manifest.accuracy_bound = 1e-4;
    CHECK_FALSE(run(reduced, options).faults.empty());
}

TEST_CASE("an entry and a manifest of different components are refused") {
    LocalComponent mixed = test::attention_entry;
    mixed.entry = test::loss_entry.entry;
    CHECK_THROWS_WITH(run(mixed, {}),
                      "verify: the entry is of loss 'local', its manifest of attention 'local'");
    conformance::ComponentUnderTest half = test::under_test(mixed);
    half.manifest = nullptr;
    CHECK_THROWS_WITH(conformance::verify(half, {}),
                      "verify: a component is its entry and its manifest; one of them is missing");
}
