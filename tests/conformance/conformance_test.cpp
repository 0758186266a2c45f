// The judge is judged: a correct component of each kind has no fault, and each way of being wrong is caught.
// To add a mutant: a line `is("name")` in the component of its kind, and its name below.
#include "component.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

std::string first_fault(const SwitchyardComponent& entry, const std::string& mutation) {
    conformance::VerifyOptions options;
    options.max_faults = mutation.empty() ? 0 : 1;
    options.dtypes = {DType::float32, DType::bfloat16};
    const auto report = conformance::verify(test::under_test(entry, mutation), options);
    CHECK(report.cases > 0);
    if (report.faults.empty()) return "";
    return report.faults.front().code + " " + report.faults.front().where + ": " +
           report.faults.front().detail;
}

struct KindUnderTest {
    const SwitchyardComponent* entry;
    std::vector<const char*> mutants;
};

void check_kind(const KindUnderTest& kind) {
    CHECK(first_fault(*kind.entry, "") == "");
    for (const char* mutant : kind.mutants) {
        INFO(kind.entry->kind << " " << mutant);
        CHECK(first_fault(*kind.entry, mutant) != "");
    }
}

}  // namespace

TEST_CASE("a correct attention passes and every mutant of it is caught") {
    check_kind({&test::attention_entry,
                {"assumes_dense",
                 "bias_gradient_not_summed",
                 "bias_gradient_overwritten",
                 "cap_after_bias",
                 "causal_from_start",
                 "causal_off_by_one",
                 "changes_lengths",
                 "dropout_missing_in_dp",
                 "dropout_unscaled",
                 "drops_last_key",
                 "gradients_swapped",
                 "group_gradient_not_summed",
                 "ignores_alibi",
                 "ignores_block_table",
                 "ignores_causal",
                 "ignores_first_document",
                 "ignores_key_lengths",
                 "ignores_offsets",
                 "ignores_prefix",
                 "joins_documents",
                 "kv_head_modulo",
                 "low_precision",
                 "lse_of_base_2",
                 "marks_copy_as_input",
                 "mask_transposed",
                 "missing_cap_derivative",
                 "missing_delta",
                 "missing_dv",
                 "missing_scale",
                 "no_key_is_nan",
                 "no_maximum",
                 "not_counted",
                 "one_sided_buckets",
                 "other_mask_in_backward",
                 "reads_before",
                 "reads_page_tail",
                 "returns_float32",
                 "returns_input",
                 "scales_input",
                 "stale_state",
                 "swapped_heads",
                 "throws_on_empty",
                 "undeclared_variant",
                 "window_off_by_one"}});
}

TEST_CASE("a correct normalization passes and every mutant of it is caught") {
    check_kind({&test::normalization_entry,
                {"assumes_dense",
                 "bias_after_dropout",
                 "bias_gradient_first_row",
                 "dropout_unscaled",
                 "eps_outside_root",
                 "fixed_eps",
                 "gradient_in_storage_dtype",
                 "ignores_beta",
                 "ignores_first_document",
                 "ignores_grad_sum",
                 "ignores_residual",
                 "layer_is_rms",
                 "low_precision",
                 "mask_by_row",
                 "missing_mean_term",
                 "no_dropout_in_backward",
                 "not_counted",
                 "one_pass_variance",
                 "reads_before",
                 "stale_state",
                 "sum_is_residual",
                 "sum_missing",
                 "unbiased_variance",
                 "writes_sum_into_residual"}});
}

TEST_CASE("a correct activation passes and every mutant of it is caught") {
    check_kind({&test::activation_entry,
                {"bias_gradient_mean", "bias_missing_in_backward", "changes_input",
                 "gate_missing_in_backward", "halves_interleaved", "halves_swapped", "ignores_bias",
                 "no_dropout_in_backward", "saves_nothing_for_bias", "seed_truncated", "tanh_for_erf"}});
}

TEST_CASE("a correct loss passes and every mutant of it is caught") {
    check_kind({&test::loss_entry,
                {"fixed_ignore_index", "ignored_rows_have_gradient", "ignores_bias", "ignores_divisor",
                 "ignores_grad_loss", "ignores_ignore_index", "ignores_smoothing", "ignores_z_loss",
                 "mean_over_all_rows", "no_maximum", "no_row_is_nan", "smoothing_over_wrong_count",
                 "weight_gradient_missing", "wrong_count", "z_loss_without_gradient"}});
}
