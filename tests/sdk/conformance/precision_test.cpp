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
        CHECK(report.cases >= 180);
        CHECK(names.size() == static_cast<std::size_t>(report.cases));
    }
}

TEST_CASE("a precision policy may scale by rows, refuse what is not finite, and give any strides") {
    for (const char* way : {"by_row", "refuses_infinity", "view_of_gradient"}) {
        conformance::VerifyOptions options;
        options.dtypes = {DType::float32};
        const auto report = conformance::verify(test::under_test(test::precision_entry, way), options);
        INFO(test::codes_of(report));
        CHECK(report.ok());
    }
}

TEST_CASE("mutants of precision policies are caught: the operands of linear layers") {
    const Mutant mutants[] = {
        {"float32_values", "/plain/", "wrong_operand"},
        {"scale_instead_of_inverse", "/plain/", "wrong_operand"},
        {"scale_of_one_dimension", "/plain/", "wrong_operand"},
        {"scales_to_nothing", "/plain/", "wrong_operand"},
        {"weight_not_turned", "/plain/", "wrong_operand"},
        {"gradient_missing", "/plain/", "wrong_operand"},
        {"x_of_last_call", "/plain/", "wrong_operand"},
        {"leaves_gradients_scaled", "/loss_scaling/", "wrong_operand"},
        {"assumes_dense", "/stride/x_permuted/", "wrong_operand"},
        {"hides_infinity", "/infinity/", "nan"},
        {"changes_input", "/plain/", "modified_input"},
        {"nondeterministic", "/plain/", "nondeterministic"},
        {"throws_on_vector", "/shape/", "accepted_then_threw"},
        {"not_counted", "/plain/", "not_counted"},
        {"counted_twice", "/plain/", "not_counted"},
        {"undeclared_variant", "/plain/", "wrong_variant"},
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
        {"keeps_weights_over_steps", "/policy/steps/", "stale_state"},
        {"recompute_advances", "/policy/recompute/", "wrong_policy"},
        {"recompute_differs", "/policy/recompute/", "wrong_policy"},
        {"forgets_scale", "/policy/state+loss_scaling/", "wrong_state"},
        {"ignores_load", "/policy/state/", "wrong_state"},
        {"entry_twice", "/policy/state/", "wrong_state"},
    };
    expect_caught(test::precision_entry, mutants);
}
