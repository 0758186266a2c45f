// Components that are wrong on purpose, in one way each, must be caught, and for the right reason.
// To add a mutant: add an `is("name")` to a component here and a line to its table: the mutation, which cases
// to run (a part of their names; fewer cases make the test faster, not easier), and the fault that has to be
// among what is found.
#include "mutants.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::expect_caught;
using test::Mutant;

TEST_CASE("mutants of attention are caught: masks") {
    const Mutant mutants[] = {
        {"ignores_causal", "/mask/", "wrong_output"},
        {"causal_off_by_one", "/mask/", "wrong_output"},
        {"causal_from_start", "padded/causal/mask/", "wrong_output"},
        {"ignores_key_lengths", "/mask/", "wrong_output"},
        {"window_off_by_one", "/mask/", "wrong_output"},
        {"ignores_prefix", "prefix/mask/", "wrong_output"},
        {"ignores_alibi", "alibi/mask/", "wrong_output"},
        {"one_sided_buckets", "relative_bias/mask/", "wrong_output"},
        {"cap_after_bias", "relative_bias", "wrong_output"},
        {"joins_documents", "packed/none/mask/", "wrong_output"},
        {"ignores_offsets", "/offsets/", "wrong_output"},
        {"drops_last_key", "none/shape/", "wrong_output"},
        {"no_key_is_nan", "causal/offsets/", "nan"},
        {"ignores_block_table", "/pages16/", "nan"},
        {"reads_page_tail", "/pages16/", "nan"},
        {"reads_page_tail", "/pages24/", "nan"},
        {"ignores_block_table", "/pages24/", "nan"},
        {"ignores_page_strides", "/pages24/", "nan"},
        {"ignores_offsets_in_pages", "/pages_offsets/", "wrong_output"},
    };
    expect_caught(test::attention_entry, mutants);
}

TEST_CASE("mutants of attention are caught: numbers") {
    const Mutant mutants[] = {
        {"swapped_heads", "none/mask/", "wrong_output"},
        {"kv_head_modulo", "none/mask/", "wrong_output"},
        {"missing_scale", "none/mask/", "wrong_output"},
        {"no_maximum", "/large/", "nan"},
        {"lse_of_base_2", "/lse/", "wrong_output"},
        {"accumulates_in_storage_dtype", "/threads", "wrong_output", DType::bfloat16},
        {"dropout_unscaled", "/dropout/", "wrong_output"},
        {"mask_transposed", "/dropout/one_hot/", "wrong_mask"},
        {"ignores_first_document", "/dropout/one_hot/", "wrong_mask"},
        {"ignores_first_head", "/dropout/one_hot/", "wrong_mask"},
        {"ignores_first_head", "/dropout/heads", "wrong_output"},
        {"other_mask_in_backward", "/dropout/one_hot/", "wrong_mask"},
        {"other_mask_in_backward", "causal/dropout/", "wrong_gradient"},
        {"dropout_missing_in_dp", "causal/dropout/", "wrong_gradient"},
    };
    expect_caught(test::attention_entry, mutants);
}

TEST_CASE("mutants of attention are caught: past the first tiles") {
    const Mutant mutants[] = {
        {"odd_past_1100_keys", "/long/", "wrong_output"},
        {"odd_past_300_queries", "/long/", "wrong_output"},
        {"odd_past_8_heads", "/heads/", "wrong_output"},
        {"odd_past_head_dim_256", "/head_dim/", "wrong_output"},
        {"odd_dropout_from_258", "/long/", "wrong_output"},
        {"prefix_up_to_16", "/prefix90/", "wrong_output"},
        {"window_up_to_20", "/window90+40/", "wrong_output"},
        {"lowest_for_infinite_bias", "/infinite_bias/", "wrong_output"},
        {"noise", "/large/", "wrong_output", DType::bfloat16},
        {"noise", "/long/", "wrong_output", DType::bfloat16},
        {"nan_to_num", "/nan/q/", "nan"},
        {"nan_to_num", "/nan/v/", "nan"},
    };
    expect_caught(test::attention_entry, mutants);
}

TEST_CASE("mutants of attention are caught: dropout with all else") {
    const Mutant mutants[] = {
        {"odd_dropout_with_alibi", "/dropout/masked/", "wrong_output"},
        {"odd_dropout_with_window", "/dropout/masked/", "wrong_output"},
        {"odd_dropout_with_prefix", "/dropout/masked/", "wrong_output"},
        {"odd_dropout_with_offsets", "/dropout/offsets/", "wrong_output"},
        {"odd_packed_dropout_with_relative_bias", "/dropout/masked/", "wrong_output"},
        {"odd_lse_with_dropout", "/dropout/lse/", "wrong_output"},
        {"odd_lse_with_dropout", "causal/dropout/f32", "wrong_gradient"},
    };
    expect_caught(test::attention_entry, mutants);
}

TEST_CASE("mutants of attention are caught: one component on two shapes, twenty times") {
    const Mutant mutants[] = {
        {"keeps_first_table", "/in_turn/", "stale_state"},
        {"keeps_first_length", "/in_turn/", "stale_state"},
        {"odd_after_10_calls", "/in_turn/", "stale_state"},
    };
    expect_caught(test::attention_entry, mutants);
}

TEST_CASE("mutants of attention are caught: gradients") {
    const Mutant mutants[] = {
        {"missing_dv", "none/mask/", "wrong_gradient"},
        {"missing_delta", "none/mask/", "wrong_gradient"},
        {"gradients_swapped", "none/heads/", "wrong_gradient"},
        {"group_gradient_not_summed", "none/mask/", "wrong_gradient"},
        {"missing_cap_derivative", "soft_cap/mask/", "wrong_gradient"},
        {"bias_gradient_not_summed", "/broadcast1/", "wrong_gradient"},
        {"bias_gradient_overwritten", "relative_bias/mask/", "wrong_gradient"},
    };
    expect_caught(test::attention_entry, mutants);
}

TEST_CASE("mutants of attention are caught: memory and manners") {
    const Mutant mutants[] = {
        {"scales_input", "none/mask/", "modified_input"},
        {"changes_lengths", "key_lengths/mask/", "modified_input"},
        {"returns_input", "none/mask/", "aliases_input"},
        {"reads_before", "none/mask/", "reads_padding"},
        {"assumes_dense", "/stride/", "wrong_strides"},
        {"stale_state", "none/mask/", "stale_state"},
        {"nondeterministic", "/deterministic/", "nondeterministic"},
        {"not_counted", "none/mask/", "not_counted"},
        {"undeclared_variant", "none/mask/", "wrong_variant"},
        {"returns_float32", "none/mask/", "wrong_dtype", DType::bfloat16},
        {"marks_copy_as_input", "none/mask/", "wrong_saved"},
        {"throws_on_empty", "/shape/", "accepted_then_threw"},
    };
    expect_caught(test::attention_entry, mutants);
}

TEST_CASE("mutants of normalization are caught") {
    const Mutant mutants[] = {
        {"unbiased_variance", "layer_norm/padded/width/", "wrong_output"},
        {"eps_outside_root", "/spread0.003/", "wrong_output"},
        {"fixed_eps", "/eps0.1/", "wrong_output"},
        {"one_pass_variance", "/center16/", "wrong_output"},
        {"layer_is_rms", "layer_norm/", "wrong_output"},
        {"ignores_beta", "layer_norm/", "wrong_output"},
        {"ignores_residual", "+residual/", "wrong_output"},
        {"bias_after_dropout", "+bias+residual+dropout/", "wrong_output"},
        {"low_precision", "layer_norm/padded/width/", "wrong_output", DType::bfloat16},
        {"dropout_unscaled", "+dropout/", "wrong_output"},
        {"mask_by_row", "/mask", "wrong_mask"},
        {"ignores_first_document", "/mask", "wrong_mask"},
        {"no_dropout_in_backward", "+dropout/", "wrong_gradient"},
        {"missing_mean_term", "layer_norm/padded/width/", "wrong_gradient"},
        {"ignores_grad_sum", "+residual/", "wrong_gradient"},
        {"bias_gradient_first_row", "+bias", "wrong_gradient"},
        {"gradient_in_storage_dtype", "/rows/", "wrong_gradient", DType::bfloat16},
        {"assumes_dense", "/stride/", "wrong_strides"},
        {"reads_before", "/width/", "reads_padding"},
        {"stale_state", "/width/", "stale_state"},
        {"writes_sum_into_residual", "+residual/", "modified_input"},
        {"sum_is_residual", "+residual/", "aliases_input"},
        {"sum_missing", "+residual/", "missing_output"},
        {"nondeterministic", "/deterministic/", "nondeterministic"},
        {"not_counted", "/width/", "not_counted"},
        {"nan_to_num", "/nan/", "nan"},
        {"keeps_first_bias", "/in_turn/", "stale_state"},
        {"odd_after_10_calls", "/in_turn/", "stale_state"},
    };
    expect_caught(test::normalization_entry, mutants);
}

TEST_CASE("mutants of activation are caught") {
    const Mutant mutants[] = {
        {"tanh_for_erf", "gelu_erf/", "wrong_output"},
        {"ignores_bias", "+bias/", "wrong_output"},
        {"halves_swapped", "swiglu/", "wrong_output"},
        {"halves_interleaved", "swiglu/", "wrong_output"},
        {"gate_missing_in_backward", "swiglu/", "wrong_gradient"},
        {"bias_missing_in_backward", "silu+bias/", "wrong_gradient"},
        {"bias_gradient_mean", "silu+bias/", "wrong_gradient"},
        {"saves_nothing_for_bias", "silu+bias/", "wrong_gradient"},
        {"no_dropout_in_backward", "/dropout/", "wrong_gradient"},
        {"seed_truncated", "/mask", "wrong_mask"},
        {"changes_input", "relu/padded/width/", "modified_input"},
        {"nan_to_num", "/nan/", "nan"},
        {"odd_after_10_calls", "/in_turn/", "stale_state"},
    };
    expect_caught(test::activation_entry, mutants);
}

TEST_CASE("mutants of loss are caught") {
    const Mutant mutants[] = {
        {"ignores_ignore_index", "/reduction/", "wrong_output"},
        {"fixed_ignore_index", "/ignore_index3/", "wrong_output"},
        {"mean_over_all_rows", "/reduction/", "wrong_output"},
        {"wrong_count", "/reduction/", "wrong_output"},
        {"no_row_is_nan", "/all_ignored", "nan"},
        {"ignores_smoothing", "/smoothing/", "wrong_output"},
        {"smoothing_over_wrong_count", "/smoothing/", "wrong_output"},
        {"ignores_z_loss", "/z/", "wrong_output"},
        {"z_loss_without_gradient", "/z/", "wrong_gradient"},
        {"ignores_divisor", "/divisor/", "wrong_output"},
        {"ignores_bias", "projection+bias/", "wrong_output"},
        {"no_maximum", "logits/large/", "nan"},
        {"ignores_grad_loss", "/reduction/", "wrong_gradient"},
        {"ignored_rows_have_gradient", "/reduction/", "wrong_gradient"},
        {"weight_gradient_missing", "projection/", "wrong_gradient"},
        {"nan_to_num", "/nan/", "nan"},
        {"reads_ignored_rows", "projection/nan_ignored/", "nan"},
        {"odd_after_10_calls", "/in_turn/", "stale_state"},
    };
    expect_caught(test::loss_entry, mutants);
}

TEST_CASE("mutants of losses of values are caught") {
    const Mutant mutants[] = {
        {"always_squared", "loss/binary_cross_entropy/reduction/", "wrong_output"},
        {"unstable_logarithm", "loss/binary_cross_entropy/large/", "nan"},
        {"mean_over_rows", "loss/mean_squared_error/reduction/", "wrong_output"},
        {"mean_over_all_values", "loss/mean_squared_error/reduction/", "wrong_output"},
        {"counts_rows", "loss/binary_cross_entropy/reduction/", "wrong_output"},
        {"mean_of_row", "loss/mean_squared_error/reduction/", "wrong_output"},
        {"missing_target_is_1", "loss/mean_squared_error/reduction/", "wrong_output"},
        {"ignores_divisor", "loss/mean_squared_error/divisor/", "wrong_output"},
        {"half_slope", "loss/mean_squared_error/reduction/", "wrong_gradient"},
        {"reads_values_without_target", "loss/mean_squared_error/nan_ignored/", "nan"},
        {"values_nan_to_num", "loss/binary_cross_entropy/nan/", "nan"},
    };
    expect_caught(test::loss_entry, mutants);
}
