// A right data loader passes, and mutants of it are caught with the fault they have.
// To add a mutant: an `is("name")` in data_loader_component.cpp and a line below: the mutation, which cases,
// and the fault that has to be found.
#include <set>

#include "mutants.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::expect_caught;
using test::Mutant;

namespace {

void expect_right(const test::LocalComponent& component) {
    std::set<std::string> names;
    for (const std::uint64_t seed : {1, 2, 3}) {
        conformance::VerifyOptions options;
        options.seed = seed;
        options.on_case = [&](const std::string& name) { CHECK((names.insert(name).second || seed > 1)); };
        const auto report = conformance::verify(test::under_test(component), options);
        INFO(test::codes_of(report));
        CHECK(report.ok());
        CHECK(report.skipped == 0);
        CHECK(report.cases >= 105);
        CHECK(names.size() == static_cast<std::size_t>(report.cases));
    }
}

}  // namespace

TEST_CASE("a right data loader passes every case, and no two cases have one name") {
    expect_right(test::data_loader_entry);
}

TEST_CASE("a right data loader with a composition of its own passes every case") {
    expect_right(test::own_loader_entry);
}

TEST_CASE("mutants of data loaders with a composition of their own are caught") {
    const Mutant mutants[] = {
        {"ignores_budget", "/budget40", "over_budget"},
        {"ignores_batch_size", "/many", "wrong_batch"},
        {"loses_a_sample", "/many", "lost_sample"},
        {"loses_last_batch", "/shuffled", "lost_sample"},
        {"repeats_a_sample", "/whole_batches", "duplicate_sample"},
        {"same_order_each_epoch", "/many", "wrong_order"},
        {"ignores_seed", "/many", "wrong_order"},
        {"truncates_seed", "/many", "wrong_order"},
        {"always_shuffles", "/in_order", "wrong_order"},
        {"ranks_are_one", "/ranks3", "duplicate_sample"},
        {"gets_first_epoch", "/shuffled", "wrong_batch"},
        {"pads_with_0", "padded/", "wrong_padding"},
        {"labels_padding_with_0", "padded/token_labels/shuffled", "wrong_labels"},
        {"counts_padding", "padded/", "wrong_batch"},
        {"never_cuts", "/max_length5", "wrong_batch"},
        {"positions_run_on", "packed/", "wrong_batch"},
        {"names_places", "/shuffled", "wrong_batch"},
        {"seek_off_by_one", "/many", "wrong_position"},
        {"seek_stays_in_epoch", "/many", "wrong_position"},
        {"position_counts_samples", "/shuffled", "wrong_position"},
        {"stays_at_end", "/shuffled", "wrong_position"},
        {"not_counted", "/shuffled", "not_counted"},
    };
    expect_caught(test::own_loader_entry, mutants);
}

TEST_CASE("mutants of data loaders are caught: order and ranks") {
    const Mutant mutants[] = {
        {"same_order_each_epoch", "/shuffled", "wrong_order"},
        {"ignores_seed", "/shuffled", "wrong_order"},
        {"truncates_seed", "/seed_above_32_bits", "wrong_order"},
        {"always_shuffles", "/in_order", "wrong_order"},
        {"ignores_drop_last", "/drop_last", "wrong_batch"},
        {"loses_last_batch", "/shuffled", "lost_sample"},
        {"loses_a_sample", "/whole_batches", "lost_sample"},
        {"repeats_a_sample", "/whole_batches", "duplicate_sample"},
        {"fills_last_batch", "/shuffled", "duplicate_sample"},
        {"small_batch_first", "/shuffled", "wrong_batch"},
        {"ranks_are_one", "/ranks3", "ranks_overlap"},
        {"ranks_take_blocks", "/ranks3", "wrong_order"},
    };
    expect_caught(test::data_loader_entry, mutants);
}

TEST_CASE("mutants of data loaders are caught: what a batch holds") {
    const Mutant mutants[] = {
        {"gets_first_epoch", "/shuffled", "wrong_batch"},
        {"pads_with_0", "padded/", "wrong_padding"},
        {"wider_padding", "padded/", "wrong_padding"},
        {"no_lengths", "padded/", "wrong_padding"},
        {"shifts_labels", "/token_labels/shuffled", "wrong_labels"},
        {"shifts_labels", "/sample_labels/shuffled", "wrong_labels"},
        {"labels_padding_with_0", "padded/token_labels/shuffled", "wrong_labels"},
        {"forgets_segments", "/token_type_ids", "wrong_batch"},
        {"forgets_target", "/target", "wrong_batch"},
        {"counts_padding", "padded/", "wrong_batch"},
        {"narrow_ids", "/shuffled", "wrong_batch"},
        {"never_cuts", "/max_length5", "wrong_batch"},
        {"ignores_pad_multiple", "/pad_multiple4", "wrong_padding"},
        {"positions_run_on", "packed/", "wrong_batch"},
        {"cu_seqlens_without_end", "packed/", "wrong_batch"},
        {"cu_seqlens_are_lengths", "packed/", "wrong_batch"},
        {"max_seqlen_of_first", "packed/", "wrong_batch"},
        {"joins_documents", "/documents", "wrong_batch"},
        {"names_places", "/shuffled", "wrong_batch"},
        {"forgets_float_labels", "/float_labels3", "wrong_labels"},
        {"float_labels_of_others", "/float_labels1", "wrong_labels"},
        {"nan_labels_are_0", "/float_labels3", "wrong_labels"},
        {"flat_float_labels", "/float_labels1", "wrong_labels"},
    };
    expect_caught(test::data_loader_entry, mutants);
}

TEST_CASE("mutants of data loaders are caught: positions and claims") {
    const Mutant mutants[] = {
        {"seek_off_by_one", "/shuffled", "wrong_position"},
        {"seek_stays_in_epoch", "/shuffled", "wrong_position"},
        {"position_counts_samples", "/shuffled", "wrong_position"},
        {"stays_at_end", "/shuffled", "wrong_position"},
        {"not_counted", "/shuffled", "not_counted"},
        {"undeclared_variant", "/shuffled", "wrong_variant"},
    };
    expect_caught(test::data_loader_entry, mutants);
}

TEST_CASE("a loader that gives an epoch the samples of another is told so") {
    conformance::VerifyOptions options;
    options.filter = "padded/sample_labels/shuffled";
    const auto report =
        conformance::verify(test::under_test(test::data_loader_entry, "gets_first_epoch"), options);
    REQUIRE(report.faults.size() == 1);
    CHECK(report.faults[0].detail == "epoch 1, batch 0 holds its samples as they are in epoch 0");
}
