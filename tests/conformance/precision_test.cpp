// A right precision policy passes, and mutants of it are caught with the fault they have.
// To add a mutant: an `is("name")` in precision_component.cpp and a line below: the mutation, which cases,
// and the fault that has to be found.
#include <set>

#include "mutants.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::expect_caught;
using test::Mutant;

TEST_CASE("a right precision policy passes every case, and no two cases have one name") {
    std::set<std::string> names;
    for (const std::uint64_t seed : {1, 2, 3}) {
        conformance::VerifyOptions options;
        options.seed = seed;
        options.on_case = [&](const std::string& name) { CHECK((names.insert(name).second || seed > 1)); };
        const auto report = conformance::verify(test::under_test(test::precision_entry), options);
        INFO(test::codes_of(report) << " worst " << report.worst_ratio << " " << report.worst_case);
        CHECK(report.ok());
        CHECK(report.skipped == 0);
        CHECK(report.cases >= 280);
        CHECK(names.size() == static_cast<std::size_t>(report.cases));
    }
}

TEST_CASE("mutants of precision policies are caught: the linear layer") {
    const Mutant mutants[] = {
        {"returns_float32", "/plain/", "wrong_dtype"},
        {"computes_low", "/plain/", "wrong_output", DType::float64},
        {"ignores_bias", "linear+bias/plain/", "wrong_output"},
        {"bias_twice", "linear+bias/plain/", "wrong_output"},
        {"transposes_weight", "/plain/", "wrong_output"},
        {"hides_infinity", "/infinity/", "nan"},
        {"assumes_dense", "/stride/x_permuted/", "wrong_strides"},
        {"reads_before", "/plain/", "reads_padding"},
        {"changes_input", "/plain/", "modified_input"},
        {"nondeterministic", "/deterministic/", "nondeterministic"},
        {"throws_on_vector", "/shape/", "accepted_then_threw"},
        {"not_counted", "/plain/", "not_counted"},
    };
    expect_caught(test::precision_entry, mutants);
}

TEST_CASE("mutants of precision policies are caught: gradients") {
    const Mutant mutants[] = {
        {"weight_gradient_missing", "/plain/", "wrong_gradient"},
        {"weight_gradient_of_first_rows", "/shape/", "wrong_gradient"},
        {"bias_gradient_mean", "linear+bias/plain/", "wrong_gradient"},
        {"gradient_as_computed", "/plain/", "wrong_dtype"},
        {"leaves_gradients_scaled", "/loss_scaling/", "wrong_gradient"},
        {"stale_state", "/plain/", "stale_state"},
        {"marks_copy_as_input", "/plain/", "wrong_saved"},
    };
    expect_caught(test::precision_entry, mutants);
}

TEST_CASE("mutants of precision policies are caught: what they say and keep") {
    const Mutant mutants[] = {
        {"declares_integers", "/policy/declared/", "wrong_policy"},
        {"declaration_changes", "/policy/declared/", "wrong_policy"},
        {"scales_unasked", "/policy/loss_scale/", "wrong_policy"},
        {"scale_grows_on_infinity", "/policy/loss_scale+loss_scaling/", "wrong_policy"},
        {"scale_vanishes", "/policy/loss_scale+loss_scaling/", "wrong_policy"},
        {"keeps_casts_over_steps", "/policy/steps/", "stale_state"},
        {"recompute_advances", "/policy/recompute/", "wrong_policy"},
        {"recompute_differs", "/policy/recompute/", "wrong_policy"},
        {"forgets_scale", "/policy/state+loss_scaling/", "wrong_state"},
        {"ignores_load", "/policy/state/", "wrong_state"},
        {"entry_twice", "/policy/state/", "wrong_state"},
    };
    expect_caught(test::precision_entry, mutants);
}
