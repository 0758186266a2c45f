// A right optimizer passes, and mutants of it are caught with the fault they have.
// To add a mutant: an `is("name")` in optimizer_component.cpp and a line below: the mutation, which cases,
// and the fault that has to be found.
#include "mutants.h"

#include <switchyard/conformance/verify.h>

#include <switchyard_test.h>

using namespace switchyard;
using test::expect_caught;
using test::Mutant;

TEST_CASE("a right optimizer passes every case of the algorithms that it has") {
    conformance::VerifyOptions options;
    options.dtypes = test::two_dtypes;
    const auto report = conformance::verify(test::under_test(test::optimizer_entry), options);
    INFO(test::codes_of(report) << " worst " << report.worst_ratio << " " << report.worst_case);
    CHECK(report.ok());
    CHECK(report.cases >= 350);
    CHECK(report.skipped > 0);
    CHECK(report.skip_reasons.size() == 2);
    CHECK(report.skip_reasons.count("algorithm: expected adamw, adam, sgd or lion, got muon") == 1);
}

TEST_CASE("an optimizer's refusals of a dtype are skipped and counted") {
    conformance::VerifyOptions options;
    options.filter = "adamw/plain";
    const auto report =
        conformance::verify(test::under_test(test::optimizer_entry, "refuses_float64"), options);
    CHECK(report.ok());
    CHECK(report.skip_reasons ==
          std::map<std::string, std::int64_t>{{"dtype: expected not float64, got float64", 1}});
}

TEST_CASE("a variant that was asked for must be the one that ran") {
    conformance::VerifyOptions options;
    options.filter = "adamw/plain/f32";
    auto component = test::under_test(test::optimizer_entry);
    component.variant = "second";
    CHECK(conformance::verify(component, options).ok());
    component.options.set("mutation", std::string("runs_other_variant"));
    const auto report = conformance::verify(component, options);
    REQUIRE(report.faults.size() == 1);
    CHECK(report.faults[0].code == "wrong_variant");
    CHECK(report.faults[0].detail == "'second' was asked for, 'first' ran");
}

TEST_CASE("mutants of optimizers are caught: the step") {
    const Mutant mutants[] = {
        {"decay_coupled", "adamw/plain/", "wrong_update"},
        {"decay_without_rate", "adamw/plain/", "wrong_update"},
        {"no_bias_correction", "adam/plain/", "wrong_update"},
        {"step_from_zero", "adamw/plain/", "wrong_update"},
        {"eps_inside_root", "adamw/eps0.1/", "wrong_update"},
        {"eps_before_correction", "adam/eps0.1/", "wrong_update"},
        {"lion_betas_swapped", "lion/plain/", "wrong_update"},
        {"dampened", "sgd+momentum/plain/", "wrong_update"},
        {"ignores_nesterov", "sgd+nesterov/plain/", "wrong_update"},
        {"first_group_for_all", "sgd/plain/", "wrong_update"},
        {"steps_without_gradient", "adamw/plain/", "wrong_update"},
        {"skips_last_value", "sgd/plain/", "wrong_update"},
        {"ignores_master", "adamw/plain/bf16+master", "wrong_update", DType::bfloat16},
        {"value_not_rounded_from_master", "adamw/plain/bf16+master", "wrong_update", DType::bfloat16},
        {"assumes_dense_gradient", "adamw/stride/gradient_stepped/", "nan"},
        {"assumes_dense_gradient", "adamw/stride/gradient_permuted/", "wrong_update"},
    };
    expect_caught(test::optimizer_entry, mutants);
}

TEST_CASE("mutants of optimizers are caught: zeros, small rates, many steps, groups of their own") {
    const Mutant mutants[] = {
        {"odd_after_5_steps", "adamw/steps20/", "wrong_update"},
        {"odd_after_60_steps", "adamw/steps70/", "wrong_update"},
        {"counts_to_1999", "adamw/step2000/", "wrong_update"},
        {"counts_in_16_bits", "adamw/step70000/", "wrong_update"},
        {"zero_weight_is_nan", "lion/zero_weights/", "nan"},
        {"zero_gradient_is_nan", "adamw/zero_gradients/", "nan"},
        {"loses_small_updates", "adamw/small_rate/", "wrong_update"},
        {"first_eps_for_all", "adamw/groups/", "wrong_update"},
        {"first_momentum_for_all", "sgd+momentum/groups/", "wrong_update"},
    };
    expect_caught(test::optimizer_entry, mutants);
}

TEST_CASE("mutants of optimizers are caught: unscaling and clipping") {
    const Mutant mutants[] = {
        {"forgets_unscaling", "sgd/unscale/", "wrong_update"},
        {"ignores_clip", "sgd/clip/", "wrong_update"},
        {"clip_scales_up", "sgd/clip_loose/", "wrong_update"},
        {"ignores_scale_tensor", "/scalars_as_tensors/", "wrong_norm"},
        {"ignores_rate_tensor", "/scalars_as_tensors/", "wrong_update"},
        {"inverts_scale_tensor", "/scalars_as_tensors/", "modified_input"},
        {"norm_after_clip", "sgd/clip/", "wrong_norm"},
        {"norm_scaled", "sgd/unscale/", "wrong_norm"},
        {"norm_of_first_group", "sgd/clip/", "wrong_norm"},
        {"norm_unasked", "sgd/plain/", "wrong_norm"},
        {"never_found_inf", "sgd/found_inf/inf/unscale/", "missed_found_inf"},
        {"misses_nan", "sgd/found_inf/nan/unscale/", "missed_found_inf"},
        {"found_inf_from_norm", "sgd/large_gradients/", "missed_found_inf"},
        {"steps_on_found_inf", "adamw/found_inf/minus_inf/clip/", "changed_on_found_inf"},
        {"counts_on_found_inf", "sgd/found_inf/inf/unscale_clip/", "changed_on_found_inf"},
    };
    expect_caught(test::optimizer_entry, mutants);
}

TEST_CASE("mutants of optimizers are caught: steps of parts") {
    const Mutant mutants[] = {
        {"parts_by_own_norm", "sgd/parts/clip/", "wrong_parts"},
        {"parts_not_unscaled", "sgd/parts/unscale/", "wrong_parts"},
        {"parts_by_first_group", "adamw/parts/", "wrong_parts"},
        {"parts_count_twice", "sgd/parts/", "wrong_parts"},
        {"aligns_below_0", "adamw/parts/", "wrong_parts"},
    };
    expect_caught(test::optimizer_entry, mutants);
}

TEST_CASE("mutants of optimizers are caught: state and manners") {
    const Mutant mutants[] = {
        {"forgets_second_moment", "adamw/state/", "wrong_state"},
        {"load_forgets_step", "adamw/state/", "wrong_state"},
        {"state_of_another_name", "adamw/state/", "wrong_state"},
        {"load_takes_part", "adamw/bad_state/", "wrong_state"},
        {"load_half_then_throws", "adamw/bad_state/", "wrong_state"},
        {"binds_anything", "adamw/bad_parameters/", "accepted_invalid"},
        {"zeroes_gradient", "adamw/plain/", "modified_input"},
        {"writes_past_end", "adamw/plain/", "modified_input"},
        {"not_counted", "adamw/plain/", "not_counted"},
    };
    expect_caught(test::optimizer_entry, mutants);
}
