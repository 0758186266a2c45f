// Drawn cases: what they promise, that they reach everything, and that they catch what is wrong. To draw
// more: draw_attention and its like in sdk/conformance; to hold another mutant against them: a line in the
// last table.
#include <algorithm>
#include <set>

#include <switchyard/conformance/attention_case.h>

#include "mutants.h"

#include <switchyard_test.h>

using namespace switchyard;
using conformance::Report;
using conformance::VerifyOptions;
using test::names_of;

namespace {

VerifyOptions drawing(std::int64_t count, std::uint64_t seed = 1) {
    VerifyOptions options;
    options.filter = "/drawn/";
    options.drawn = count;
    options.drawn_seed = seed;
    return options;
}

}  // namespace

TEST_CASE("right components pass what is drawn") {
    for (const auto* sample :
         {&test::attention_entry, &test::normalization_entry, &test::activation_entry, &test::loss_entry,
          &test::optimizer_entry, &test::linear_entry, &test::precision_entry}) {
        const Report report = conformance::verify(test::under_test(*sample), drawing(40, 3));
        INFO(test::codes_of(report));
        CHECK(report.faults.empty());
        CHECK(report.drawn == 40);
        CHECK(report.cases == 40);
    }
}

TEST_CASE("a right normalization passes in many float16 sums of two channels, some of which are equal") {
    VerifyOptions options = drawing(45, 2925425179);
    options.filter = "/drawn/44/f16/B4S4622/W2/";
    const Report report = conformance::verify(test::under_test(test::normalization_entry), options);
    INFO(test::codes_of(report));
    CHECK(report.cases == 1);
    CHECK(report.faults.empty());
}

TEST_CASE("a seed repeats what is drawn, however many are drawn; another seed draws others") {
    const auto few = names_of(test::activation_entry, drawing(4, 9));
    const auto many = names_of(test::activation_entry, drawing(8, 9));
    REQUIRE(few.size() == 4);
    REQUIRE(many.size() == 8);
    CHECK(std::equal(few.begin(), few.end(), many.begin()));
    CHECK(std::set<std::string>(many.begin(), many.end()).size() == 8);
    CHECK(names_of(test::activation_entry, drawing(4, 10)) != few);
    VerifyOptions one = drawing(8, 9);
    one.filter = "/drawn/5/";
    CHECK(names_of(test::activation_entry, one) == std::vector<std::string>{many[5]});
}

TEST_CASE("only what supports accepts is drawn, and a component that serves little gets as many cases") {
    for (const auto& name : names_of(test::attention_entry, drawing(20), "serves_little")) {
        INFO(name);
        CHECK(name.rfind("attention/padded/causal/", 0) == 0);
        CHECK(name.find("/f32/") != std::string::npos);
        CHECK(name.find("/D64") != std::string::npos);
    }
    CHECK(names_of(test::attention_entry, drawing(20), "serves_little").size() >= 18);
}

TEST_CASE("a fault in a drawn case tells its number, which alone repeats it") {
    VerifyOptions options = drawing(30);
    options.max_faults = 1;
    const Report all = conformance::verify(test::under_test(test::loss_entry, "ignores_z_loss"), options);
    REQUIRE_FALSE(all.faults.empty());
    const auto& fault = all.faults.front();
    REQUIRE(fault.drawn >= 0);
    VerifyOptions again = drawing(fault.drawn + 1);
    again.filter = "/drawn/" + std::to_string(fault.drawn) + "/";
    const Report one = conformance::verify(test::under_test(test::loss_entry, "ignores_z_loss"), again);
    CHECK(one.cases == 1);
    REQUIRE_FALSE(one.faults.empty());
    CHECK(one.faults.front().detail == fault.detail);
    options.filter = "/z/";
    const Report listed = conformance::verify(test::under_test(test::loss_entry, "ignores_z_loss"), options);
    REQUIRE_FALSE(listed.faults.empty());
    CHECK(listed.faults.front().drawn == -1);
}

TEST_CASE("drawn attentions reach every mask, layout, phase and switch, with each other") {
    std::set<std::string> seen;
    for (std::int64_t number = 0; number < 400; ++number) {
        conformance::Draw draw(Kind::attention, number, 0, 1);
        const auto spec = conformance::draw_attention(draw, {DType::float32, DType::bfloat16});
        const bool packed = spec.layout == Layout::packed;
        std::vector<std::string> marks{std::string(name(spec.dtype)), std::string(name(spec.phase)),
                                       packed ? "packed" : "padded"};
        const auto mark = [&](bool holds, const char* text) {
            if (holds) marks.emplace_back(text);
        };
        for (std::size_t i = 0; i < names<MaskKind>.size(); ++i)
            mark(spec.masks.has(static_cast<MaskKind>(i)), names<MaskKind>[i].data());
        mark(spec.dropout > 0.0, "dropout");
        mark(spec.heads > spec.kv_heads, "grouped");
        mark(spec.heads > 8, "many heads");
        mark(spec.head_dim > 128, "wide heads");
        mark(spec.head_dim != spec.v_head_dim, "two widths");
        mark(!packed && spec.keys > 1100, "many keys");
        mark(!packed && spec.queries > 300, "many queries");
        mark(!packed && spec.queries != spec.keys, "fewer queries");
        mark(spec.offsets, "offsets");
        mark(spec.page_size > 0, "pages");
        mark(spec.lse, "lse");
        mark(spec.placement != conformance::Placement::dense, "strides");
        mark(spec.threaded, "threads");
        seen.insert(marks.begin(), marks.end());
        for (const auto& mark_with_dropout : marks) {
            if (spec.dropout > 0.0) seen.insert(mark_with_dropout + " with dropout");
        }
    }
    for (const std::string mark : {"float32",
                                   "bfloat16",
                                   "train",
                                   "eval",
                                   "prefill",
                                   "decode",
                                   "packed",
                                   "padded",
                                   "causal",
                                   "key_lengths",
                                   "documents",
                                   "sliding_window",
                                   "prefix",
                                   "alibi",
                                   "relative_bias",
                                   "soft_cap",
                                   "dense_bias",
                                   "dropout",
                                   "grouped",
                                   "many heads",
                                   "wide heads",
                                   "two widths",
                                   "many keys",
                                   "many queries",
                                   "fewer queries",
                                   "offsets",
                                   "pages",
                                   "lse",
                                   "strides",
                                   "threads",
                                   "packed with dropout",
                                   "causal with dropout",
                                   "key_lengths with dropout",
                                   "sliding_window with dropout",
                                   "prefix with dropout",
                                   "alibi with dropout",
                                   "relative_bias with dropout",
                                   "soft_cap with dropout",
                                   "dense_bias with dropout",
                                   "offsets with dropout",
                                   "many keys with dropout",
                                   "lse with dropout"}) {
        INFO(mark);
        CHECK(seen.count(mark) == 1);
    }
}

TEST_CASE("mutants are caught by drawn cases alone") {
    struct Wrong {
        const test::LocalComponent& sample;
        const char* mutation;
    };
    const Wrong all[] = {
        {test::attention_entry, "ignores_key_lengths"},
        {test::attention_entry, "window_up_to_20"},
        {test::attention_entry, "odd_past_8_heads"},
        {test::attention_entry, "odd_past_300_queries"},
        {test::attention_entry, "odd_dropout_with_window"},
        {test::attention_entry, "odd_lse_with_dropout"},
        {test::attention_entry, "lowest_for_infinite_bias"},
        {test::attention_entry, "group_gradient_not_summed"},
        {test::normalization_entry, "fixed_eps"},
        {test::normalization_entry, "bias_after_dropout"},
        {test::normalization_entry, "assumes_dense"},
        {test::activation_entry, "tanh_for_erf"},
        {test::activation_entry, "no_dropout_in_backward"},
        {test::loss_entry, "fixed_ignore_index"},
        {test::loss_entry, "ignores_divisor"},
        {test::optimizer_entry, "first_eps_for_all"},
        {test::optimizer_entry, "ignores_scale_tensor"},
        {test::optimizer_entry, "zero_weight_is_nan"},
        {test::linear_entry, "bias_not_in_last_row"},
        {test::linear_entry, "last_column_past_1024"},
        {test::linear_entry, "odd_past_64_rows"},
        {test::linear_entry, "prepares_once"},
        {test::precision_entry, "weight_not_turned"},
    };
    for (const auto& [sample, mutation] : all) {
        VerifyOptions options = drawing(300);
        options.dtypes = {DType::float32};
        options.max_faults = 1;
        INFO(mutation);
        CHECK_FALSE(conformance::verify(test::under_test(sample, mutation), options).faults.empty());
    }
}
