// Right linear layers pass, and mutants of them are caught with the fault they have.
// To add a mutant: an `is("name")` in linear_component.cpp and a line below: the mutation, which cases, and
// the fault that has to be found.
#include <set>

#include "mutants.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::expect_caught;
using test::Mutant;

namespace {

void expect_right(const conformance::ComponentUnderTest& component, conformance::VerifyOptions options,
                  std::int64_t least_cases) {
    std::set<std::string> names;
    options.on_case = [&](const std::string& name) { CHECK(names.insert(name).second); };
    const auto report = conformance::verify(component, options);
    INFO(test::codes_of(report) << " worst " << report.worst_ratio << " " << report.worst_case);
    CHECK(report.ok());
    CHECK(report.skipped == 0);
    CHECK(report.cases >= least_cases);
    CHECK(names.size() == static_cast<std::size_t>(report.cases));
}

}  // namespace

TEST_CASE("a right linear layer passes every case, and no two cases have one name") {
    for (const std::uint64_t seed : {1, 2}) {
        conformance::VerifyOptions options;
        options.seed = seed;
        options.dtypes = seed > 1 ? std::vector{DType::float32} : test::two_dtypes;
        expect_right(test::under_test(test::linear_entry), options, seed > 1 ? 100 : 300);
    }
}

TEST_CASE("a linear layer may prepare weights or not, and let go of them or not") {
    conformance::VerifyOptions options;
    options.filter = "/prepared";
    options.dtypes = test::two_dtypes;
    for (const char* way : {"form_beside_weight", "forms_for_training_alone"})
        expect_right(test::under_test(test::linear_entry, way), options, 100);
}

TEST_CASE("a linear layer of ATen calls is differentiated by autograd") {
    test::LocalComponent followed = test::linear_entry;
    followed.manifest.gradient = GradientMode::differentiable;
    conformance::VerifyOptions options;
    options.dtypes = test::two_dtypes;
    expect_right(test::under_test(followed), options, 300);
}

TEST_CASE("operands of a linear layer are rounded to TensorFloat-32 where that is asked for, only") {
    conformance::VerifyOptions options;
    options.filter = "/tf32/";
    options.dtypes = {DType::float32};
    expect_right(test::under_test(test::linear_entry, "tf32_if_asked"), options, 2);
    const Mutant mutants[] = {{"rounds_to_tf32", "/plain/", "wrong_output"}};
    expect_caught(test::linear_entry, mutants);
}

TEST_CASE("mutants of linear layers are caught: the product") {
    const Mutant mutants[] = {
        {"forgets_bias", "+bias/plain/", "wrong_output"},
        {"bias_twice", "+bias/plain/", "wrong_output"},
        {"bias_not_in_last_row", "+bias/plain/", "wrong_output"},
        {"square_weight_as_it_is", "dense/square/", "wrong_output"},
        {"last_column_past_1024", "/in/", "wrong_output"},
        {"odd_past_64_rows", "/70x66x1100", "wrong_output"},
        {"accumulates_low", "dense/in/", "wrong_output", DType::bfloat16},
        {"accumulates_low", "dense/in/", "wrong_output", DType::float16},
        {"nan_to_num", "/nan/", "nan"},
        {"nan_to_num", "/infinity/", "nan"},
        {"assumes_dense", "/stride/x_permuted/", "wrong_strides"},
        {"assumes_dense", "/stride/weight_permuted/", "wrong_strides"},
        {"reads_before", "/plain/", "reads_padding"},
        {"returns_float32", "/plain/", "wrong_dtype", DType::bfloat16},
        {"odd_on_second_shape", "/in_turn/", "stale_state"},
        {"odd_after_10_calls", "/in_turn/", "stale_state"},
    };
    expect_caught(test::linear_entry, mutants);
}

TEST_CASE("mutants of linear layers are caught: gradients") {
    const Mutant mutants[] = {
        {"input_gradient_off", "/plain/", "wrong_gradient"},
        {"weight_gradient_without_last_row", "/plain/", "wrong_gradient"},
        {"weight_of_last_call", "dense/plain/", "stale_state"},
        {"keeps_gradient", "/plain/", "wrong_gradient"},
        {"assumes_dense", "/stride/gradient_stepped/", "wrong_strides"},
    };
    expect_caught(test::linear_entry, mutants);
}

TEST_CASE("mutants of linear layers are caught: prepared weights") {
    const Mutant mutants[] = {
        {"prepares_once", "/prepared", "wrong_output"},
        {"nothing_replaces_weight", "/prepared", "wrong_form"},
        {"form_of_bytes_unknown", "/prepared", "wrong_form"},
        {"keeps_result", "/prepared/grad_none", "aliases_input"},
    };
    expect_caught(test::linear_entry, mutants);
}

TEST_CASE("mutants of linear layers are caught: scaled operands") {
    const Mutant mutants[] = {
        {"ignores_weight_scale", "scaled_tensor/plain/", "wrong_output", DType::bfloat16},
        {"ignores_weight_scale", "scaled_row/plain/", "wrong_output", DType::bfloat16},
        {"ignores_gradient_scale", "scaled_block/plain/", "wrong_gradient", DType::bfloat16},
        {"square_transposed", "scaled_block/threads/", "wrong_output", DType::bfloat16},
        {"square_transposed", "scaled_block/threads/", "wrong_gradient", DType::bfloat16},
        {"assumes_dense", "scaled_row/stride/permuted/", "wrong_strides", DType::bfloat16},
        {"forgets_bias", "scaled_tensor+bias/plain/", "wrong_output", DType::bfloat16},
        {"nan_to_num", "scaled_block/nan/", "nan", DType::bfloat16},
        {"odd_past_64_rows", "scaled_dense/shape/", "wrong_output", DType::bfloat16},
    };
    expect_caught(test::linear_entry, mutants);
}

TEST_CASE("mutants of linear layers are caught: quantized weights") {
    const Mutant mutants[] = {
        {"forgets_zero_points", "int8_groups/plain/", "wrong_output"},
        {"forgets_zero_points", "int4_row/plain/", "wrong_output"},
        {"first_scale_for_all", "int4_groups/plain/", "wrong_output"},
        {"halves_swapped", "int4_groups/plain/", "wrong_output"},
        {"leaves_input_as_it_is", "int8_dynamic/plain/", "wrong_output"},
        {"leaves_input_as_it_is", "int8_static/plain/", "wrong_output"},
        {"one_scale_for_all_rows", "int8_dynamic/plain/", "wrong_output"},
        {"forgets_input_scale", "int8_static/plain/", "wrong_output"},
        {"form_of_bytes_unknown", "int8_row/plain/", "wrong_form"},
        {"quantized_beside_form", "int8_row/plain/", "wrong_form"},
        {"last_column_past_1024", "int4_groups/in/", "wrong_output"},
        {"assumes_dense", "int8_row/stride/x_permuted/", "wrong_strides"},
        {"nan_to_num", "int8_dynamic/nan/", "nan"},
    };
    expect_caught(test::linear_entry, mutants);
}

TEST_CASE("mutants of linear layers are caught: memory and manners") {
    const Mutant mutants[] = {
        {"writes_into_x", "/plain/", "modified_input"},
        {"returns_x", "/square/", "aliases_input"},
        {"keeps_result", "dense/plain/", "stale_state"},
        {"nondeterministic", "/deterministic/", "nondeterministic"},
        {"throws_on_empty", "/shape/", "accepted_then_threw"},
        {"not_counted", "/plain/", "not_counted"},
        {"counted_twice", "/plain/", "not_counted"},
        {"undeclared_variant", "/plain/", "wrong_variant"},
    };
    expect_caught(test::linear_entry, mutants);
}
