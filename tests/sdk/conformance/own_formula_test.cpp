// Activations and losses of a component's own have no reference: one that computes one function, in all forms
// and dtypes, with that function's slope as its gradient, passes; mutants do not.
// To add a mutant: an `is("name")` in activation_component.cpp or loss_component.cpp and a line below.
#include <algorithm>
#include <set>

#include "mutants.h"

#include <switchyard/conformance/verify.h>

#include <switchyard_test.h>

using namespace switchyard;
using test::expect_caught;
using test::Mutant;

namespace {

void check_right(const test::LocalComponent& component, const std::string& own,
                 const std::vector<std::string>& families) {
    conformance::VerifyOptions options;
    options.dtypes = test::two_dtypes;
    options.filter = own;
    options.drawn = 10;
    std::set<std::string> seen;
    options.on_case = [&](const std::string& name) { seen.insert(name); };
    const auto report = conformance::verify(test::under_test(component), options);
    INFO(test::codes_of(report));
    CHECK(report.ok());
    CHECK(report.skipped == 0);
    for (const auto& family : families) {
        INFO(family);
        CHECK(std::ranges::any_of(seen, [&](const std::string& name) {
            return name.find("/" + family + "/") != std::string::npos;
        }));
    }
}

}  // namespace

TEST_CASE("a right activation of a component's own passes every case") {
    check_right(test::own_activation_entry, "activation/custom:sample",
                {"width", "rows", "eval", "large", "nan", "threads", "packed", "deterministic", "stride",
                 "dropout", "needs"});
}

TEST_CASE("right losses of a component's own pass every case, of classes and of values") {
    check_right(test::own_loss_entry, "loss/custom:sample",
                {"values", "logits", "projection", "reduction", "divisor", "classes", "rows", "nan",
                 "nan_ignored", "threads", "given_up", "large"});
}

TEST_CASE("a component is asked for no formula that it does not bring") {
    for (const auto* component : {&test::activation_entry, &test::loss_entry}) {
        conformance::VerifyOptions options;
        options.filter = "custom";
        CHECK(test::names_of(*component, options).empty());
    }
}

TEST_CASE("a job's request for a formula of a component's own gets cases of that formula") {
    const auto names_for = [](const test::LocalComponent& component, auto asked) {
        conformance::VerifyOptions options;
        options.requests = {std::make_shared<decltype(asked)>(asked)};
        options.asked = 3;
        return test::names_of(component, options);
    };
    ActivationRequest activation;
    activation.activation = ActivationKind::custom;
    activation.custom = "sample";
    activation.rows = Range(1, 40);
    activation.width = 32;
    const auto activations = names_for(test::own_activation_entry, activation);
    CHECK(activations.size() == 3);
    for (const auto& name : activations) CHECK_THAT(name, test::contains("activation/custom:sample"));
    LossRequest loss;
    loss.loss = LossKind::custom;
    loss.custom = "sample";
    loss.rows = Range(1, 40);
    loss.classes = 7;
    loss.value_targets = true;
    const auto losses = names_for(test::own_loss_entry, loss);
    CHECK(losses.size() == 3);
    for (const auto& name : losses) CHECK_THAT(name, test::contains("loss/custom:sample/values"));
}

TEST_CASE("a formula that a component names and never serves is told") {
    auto component = test::own_activation_entry;
    component.manifest.custom = {"sample", "sampled"};
    conformance::VerifyOptions options;
    options.drawn = 0;
    const auto report = conformance::verify(test::under_test(component), options);
    REQUIRE(report.faults.size() == 1);
    CHECK(report.faults[0].code == "never_served");
    CHECK(report.faults[0].where == "custom:sampled");
}

TEST_CASE("mutants of activations of their own are caught") {
    const Mutant mutants[] = {
        {"slope_off", "custom:sample/padded/width/", "wrong_gradient"},
        {"slope_of_another", "custom:sample/padded/width/", "wrong_gradient"},
        {"slope_off_for_large", "custom:sample/padded/large/", "wrong_gradient"},
        {"slope_off", "custom:sample/padded/width/f64/", "wrong_gradient", DType::float64},
        {"depends_on_row", "custom:sample/padded/width/", "wrong_output"},
        {"depends_on_place", "custom:sample/padded/width/", "wrong_output"},
        {"depends_on_row", "custom:sample/padded/width/f64/", "wrong_output", DType::float64},
        {"another_in_float64", "custom:sample/padded/width/", "wrong_output"},
        {"narrow", "custom:sample/padded/width/", "wrong_output"},
        {"ignores_bias", "custom:sample+bias/padded/width/", "wrong_output"},
        {"bias_missing_in_backward", "custom:sample+bias/padded/width/", "wrong_gradient"},
        {"bias_gradient_mean", "custom:sample+bias/padded/width/", "wrong_gradient"},
        {"no_dropout_in_backward", "custom:sample/padded/dropout/", "wrong_gradient"},
        {"seed_truncated", "custom:sample/padded/dropout/", "wrong_output"},
        {"nan_to_num", "custom:sample/padded/nan/", "nan"},
        {"changes_input", "custom:sample/padded/width/", "modified_input"},
        {"refuses_float64", "custom:sample/padded/width/", "not_in_float64"},
    };
    expect_caught(test::own_activation_entry, mutants);
}

TEST_CASE("mutants of losses of their own are caught: classes") {
    const Mutant mutants[] = {
        {"slope_off", "custom:sample/logits/classes/", "wrong_gradient"},
        {"slope_off_for_last_class", "custom:sample/logits/classes/f32/R33C7/", "wrong_gradient"},
        {"slope_off_for_last_class", "custom:sample/logits/classes/f32/R33C4097/", "wrong_gradient"},
        {"slope_off", "custom:sample/logits/classes/f64/R33C128/", "wrong_gradient", DType::float64},
        {"depends_on_rows", "custom:sample/logits/classes/f32/R33C7/", "wrong_output"},
        {"another_in_float64", "custom:sample/logits/reduction/", "wrong_gradient"},
        {"narrow", "custom:sample/logits/reduction/", "wrong_output"},
        {"mean_over_all_rows", "custom:sample/logits/reduction/", "wrong_output"},
        {"ignores_divisor", "custom:sample/logits/divisor/", "wrong_output"},
        {"wrong_count", "custom:sample/logits/reduction/", "wrong_output"},
        {"fixed_ignore_index", "custom:sample/logits/ignore_index3/", "wrong_output"},
        {"ignores_ignore_index", "custom:sample/logits/reduction/", "wrong_output"},
        {"ignored_rows_have_gradient", "custom:sample/logits/reduction/", "wrong_gradient"},
        {"reads_ignored_rows", "custom:sample/logits/nan_ignored/", "nan"},
        {"ignores_grad_loss", "custom:sample/logits/reduction/", "wrong_gradient"},
        {"ignores_bias", "custom:sample/projection+bias/reduction/", "wrong_output"},
        {"weight_gradient_missing", "custom:sample/projection/reduction/", "wrong_gradient"},
        {"no_maximum", "custom:sample/logits/large/", "nan"},
        {"refuses_float64", "custom:sample/logits/reduction/", "not_in_float64"},
    };
    expect_caught(test::own_loss_entry, mutants);
}

TEST_CASE("mutants of losses of their own are caught: values") {
    const Mutant mutants[] = {
        {"half_slope", "custom:sample/values/reduction/", "wrong_gradient"},
        {"mean_over_rows", "custom:sample/values/reduction/", "wrong_output"},
        {"mean_over_all_values", "custom:sample/values/reduction/", "wrong_output"},
        {"counts_rows", "custom:sample/values/reduction/", "wrong_output"},
        {"ignores_divisor", "custom:sample/values/divisor/", "wrong_output"},
        {"reads_values_without_target", "custom:sample/values/nan_ignored/", "nan"},
        {"missing_target_is_1", "custom:sample/values/reduction/", "wrong_output"},
    };
    expect_caught(test::own_loss_entry, mutants);
}
