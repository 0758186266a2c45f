// Runs that look for a part of what can be wrong, and runs that only ask what is served.
// To add a case: a line in the table, with what each part has to find of a mutant.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "component.h"
#include "mutants.h"

#include <switchyard_test.h>

using namespace switchyard;
using conformance::Checks;
using conformance::VerifyOptions;

namespace {

const Checks correctness{true, false, false}, gradients{false, true, false}, robustness{false, false, true};

conformance::Report run(const test::LocalComponent& sample, const Checks& checks, const std::string& filter,
                        const std::string& mutation = "") {
    VerifyOptions options;
    options.dtypes = {DType::float32};
    options.filter = filter;
    options.checks = checks;
    return conformance::verify(test::under_test(sample, mutation), options);
}

}  // namespace

TEST_CASE("a part of the checks finds what is of it, and leaves the rest") {
    struct Wrong {
        const test::LocalComponent& component;
        const char *mutation, *filter;
        bool of_correctness, of_gradients, of_robustness;
    };
    const Wrong wrong[] = {
        {test::activation_entry, "gate_missing_in_backward", "swiglu/padded/width/", false, true, false},
        {test::activation_entry, "ignores_bias", "gelu_erf+bias/padded/width/", true, true, false},
        {test::activation_entry, "odd_after_10_calls", "/in_turn/", false, false, true},
        {test::normalization_entry, "assumes_dense", "/stride/", false, false, true},
    };
    for (const Wrong& one : wrong) {
        INFO(one.mutation);
        const auto finds = [&](const Checks& checks) {
            const auto report = run(one.component, checks, one.filter, one.mutation);
            INFO(test::codes_of(report));
            CHECK(report.cases > 0);
            CHECK((report.failed > 0) == !report.faults.empty());
            return !report.faults.empty();
        };
        CHECK(finds(correctness) == one.of_correctness);
        CHECK(finds(gradients) == one.of_gradients);
        CHECK(finds(robustness) == one.of_robustness);
        CHECK(finds({}));
    }
}

TEST_CASE("what is wrong with outputs is told by its cause, whatever gradients are") {
    const auto codes = [](const Checks& checks) {
        std::set<std::string> found;
        for (const auto& fault : run(test::normalization_entry, checks, "layer_norm/padded/width/f32/B2S5",
                                     "reads_before+missing_mean_term")
                                     .faults)
            found.insert(fault.code);
        return found;
    };
    CHECK(codes(robustness) == std::set<std::string>{"reads_padding"});
    CHECK(codes(gradients) == std::set<std::string>{"wrong_gradient"});
    CHECK(codes(correctness).empty());
    CHECK(codes({}) == std::set<std::string>{"reads_padding", "wrong_gradient"});
}

TEST_CASE("a right component passes each part of the checks") {
    for (const auto* sample : {&test::attention_entry, &test::normalization_entry, &test::activation_entry,
                               &test::loss_entry, &test::linear_entry, &test::optimizer_entry}) {
        INFO(sample->entry.kind);
        const auto cases = [&](const Checks& checks) {
            const auto report = run(*sample, checks, "");
            INFO(test::codes_of(report));
            CHECK(report.faults.empty());
            return report.cases;
        };
        const auto all = cases(correctness), with_gradients = cases(gradients);
        CHECK(cases(robustness) >= all);  // of which some are several calls in turn
        // Cases that ask for no gradients are left out, and all of a kind that has none.
        CHECK(with_gradients < all);
        CHECK((with_gradients > 0) == (sample != &test::optimizer_entry));
    }
}

TEST_CASE("a run that only asks says of each listed case whether it is served, and runs none") {
    VerifyOptions options;
    options.filter = "head_dim/f32";
    options.only_ask = true;
    options.drawn = 10;
    options.on_case = [](const std::string& name) { FAIL(name << " ran"); };
    const auto report =
        conformance::verify(test::under_test(test::attention_entry, "refuses_head_dim"), options);
    CHECK(report.cases == 14);
    CHECK(report.skipped == 4);
    REQUIRE(report.support.size() == 18);
    const auto refused = [](const auto& one) { return !one.refused.empty(); };
    CHECK(std::ranges::count_if(report.support, refused) == 4);
    const auto first = std::ranges::find_if(report.support, refused);
    CHECK_THAT(first->refused.at(0), test::contains("head_dim: expected a multiple of 8, got "));
    CHECK_THAT(first->where, test::contains("head_dim/f32"));
}
