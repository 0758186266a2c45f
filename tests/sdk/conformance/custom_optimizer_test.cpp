// An optimizer with an algorithm of its own has no oracle: a right one has all properties that the suite asks
// for, and mutants of it are caught by the property that they lack.
// To add a mutant: an `is("name")` in optimizer_component.cpp and a line below: the mutation, which cases,
// and the fault that has to be found.
#include <algorithm>
#include <set>

#include "mutants.h"

#include <switchyard/conformance/verify.h>

#include <switchyard_test.h>

using namespace switchyard;
using test::expect_caught;
using test::Mutant;

TEST_CASE(
    "a right optimizer of its own has every property, and is asked for no name that it does not bring") {
    conformance::VerifyOptions options;
    options.filter = "optimizer/custom:";
    options.drawn = 30;
    std::set<std::string> families;
    options.on_case = [&](const std::string& name) {
        CHECK_THAT(name, test::contains("optimizer/custom:sample/"));
        families.insert(name.substr(0, name.find('/', std::string("optimizer/custom:sample/").size())));
    };
    const auto report = conformance::verify(test::under_test(test::optimizer_entry), options);
    INFO(test::codes_of(report));
    CHECK(report.ok());
    CHECK(report.cases >= 150);
    CHECK(report.skipped == 0);
    for (const char* family : {"converges", "no_rate", "unscaled", "clipped", "rate_tensor", "decay",
                               "own_groups", "split_groups", "order", "strides", "as_masters", "steps2000",
                               "found_inf", "state", "bad_state", "parts", "zero_gradients"}) {
        INFO(family);
        CHECK(families.contains(std::string("optimizer/custom:sample/") + family));
    }
}

TEST_CASE("a job's request for an algorithm of a component's own gets the cases of that algorithm") {
    auto asked = std::make_shared<OptimizerRequest>();
    asked->algorithm = OptimizerKind::custom;
    asked->custom = "sample";
    conformance::VerifyOptions options;
    options.requests = {asked};
    const auto names = test::names_of(test::optimizer_entry, options);
    CHECK(names.size() > 10);
    CHECK(std::ranges::all_of(names, [](const auto& name) {
        return name.starts_with("optimizer/custom:sample/") && name.find("/f32/") != std::string::npos;
    }));
    asked->custom = "another";
    CHECK(test::names_of(test::optimizer_entry, options).empty());
}

TEST_CASE("mutants of optimizers of their own are caught: what every algorithm does") {
    const Mutant mutants[] = {
        {"steps_uphill", "custom:sample/converges/quadratic/", "does_not_converge"},
        {"steps_uphill", "custom:sample/converges/regression/", "does_not_converge"},
        {"steps_first_group_value_only", "custom:sample/converges/regression/", "does_not_converge"},
        {"steps_without_rate", "custom:sample/no_rate/", "changed_without_rate"},
        {"decay_without_rate", "custom:sample/no_rate/", "changed_without_rate"},
        {"no_decay", "custom:sample/decay/", "ignores_decay"},
        {"ignores_rate_tensor", "custom:sample/rate_tensor/", "wrong_rate"},
        {"first_group_for_all", "custom:sample/own_groups/", "wrong_group"},
        {"rate_by_number_of_groups", "custom:sample/split_groups/", "depends_on_grouping"},
        {"rate_by_place", "custom:sample/order/", "depends_on_order"},
        {"assumes_dense_gradient", "custom:sample/strides/permuted/", "depends_on_strides"},
        {"ignores_master", "custom:sample/as_masters/bf16+master", "ignores_master", DType::bfloat16},
    };
    expect_caught(test::optimizer_entry, mutants);
}

TEST_CASE(
    "mutants of optimizers of their own are caught: unscaling, clipping, gradients that are not finite") {
    const Mutant mutants[] = {
        {"forgets_unscaling", "custom:sample/unscaled/", "not_unscaled"},
        {"ignores_scale_tensor", "custom:sample/unscaled/by_tensor/", "not_unscaled"},
        {"ignores_clip", "custom:sample/clipped/", "wrong_clip"},
        {"clip_scales_up", "custom:sample/clipped/", "wrong_clip"},
        {"clips_each_parameter", "custom:sample/clipped/", "wrong_clip"},
        {"norm_of_first_group", "custom:sample/clip/", "wrong_norm"},
        {"norm_after_clip", "custom:sample/clip/", "wrong_norm"},
        {"norm_scaled", "custom:sample/unscale/", "wrong_norm"},
        {"never_found_inf", "custom:sample/found_inf/inf/unscale/", "missed_found_inf"},
        {"misses_nan", "custom:sample/found_inf/nan/unscale/", "missed_found_inf"},
        {"steps_on_found_inf", "custom:sample/found_inf/minus_inf/clip/", "changed_on_found_inf"},
        {"counts_on_found_inf", "custom:sample/found_inf/inf/unscale_clip/", "changed_on_found_inf"},
    };
    expect_caught(test::optimizer_entry, mutants);
}

TEST_CASE("mutants of optimizers of their own are caught: zeros, many steps, state and manners") {
    const Mutant mutants[] = {
        {"zero_weight_is_nan", "custom:sample/zero_weights/", "nan"},
        {"zero_gradient_is_nan", "custom:sample/zero_gradients/", "nan"},
        {"nan_after_1500_steps", "custom:sample/steps2000/", "nan"},
        {"steps_without_gradient", "custom:sample/plain/", "wrong_update"},
        {"value_not_rounded_from_master", "custom:sample/plain/bf16+master", "wrong_update", DType::bfloat16},
        {"forgets_second_moment", "custom:sample/state/", "wrong_state"},
        {"load_forgets_step", "custom:sample/state/", "wrong_state"},
        {"state_of_another_name", "custom:sample/state/", "wrong_state"},
        {"load_takes_part", "custom:sample/bad_state/", "wrong_state"},
        {"draws_by_chance", "custom:sample/state/", "nondeterministic"},
        {"binds_anything", "custom:sample/bad_parameters/", "accepted_invalid"},
        {"parts_by_first_group", "custom:sample/parts/", "wrong_parts"},
        {"zeroes_gradient", "custom:sample/plain/", "modified_input"},
        {"writes_past_end", "custom:sample/plain/", "modified_input"},
        {"not_counted", "custom:sample/plain/", "not_counted"},
    };
    expect_caught(test::optimizer_entry, mutants);
}
