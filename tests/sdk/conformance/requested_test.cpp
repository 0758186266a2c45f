// Cases of given requests: sizes within their ranges up to the ends, all else as the request says, and what
// is wrong at the sizes of a job alone is found. To hold another mutant against them: a line in the last
// table.
#include <algorithm>
#include <memory>
#include <set>

#include "mutants.h"

#include <switchyard_test.h>

using namespace switchyard;
using conformance::Report;
using conformance::VerifyOptions;
using test::names_of;

namespace {

using Asked = std::shared_ptr<const Request>;

VerifyOptions asking(Asked request, std::int64_t count = 6) {
    VerifyOptions options;
    options.requests = {std::move(request)};
    options.asked = count;
    return options;
}

// A decoder's layer in training: 12 heads of 16, up to 4 sequences of up to 512.
AttentionRequest attention_of_a_job() {
    AttentionRequest asked;
    asked.needs_grad = true;
    asked.batch = {1, 4};
    asked.heads = asked.kv_heads = 12;
    asked.q_length = asked.kv_length = {6, 320};
    asked.head_dim = asked.v_head_dim = 16;
    asked.masks = MaskSet{MaskKind::causal};
    asked.dropout = 0.1;
    return asked;
}

NormalizationRequest norm_of_a_job() {
    NormalizationRequest asked;
    asked.needs_grad = true;
    asked.rows = {1, 2048};
    asked.width = 384;
    asked.residual = true;
    asked.dropout = 0.1;
    return asked;
}

ActivationRequest activation_of_a_job() {
    ActivationRequest asked;
    asked.layout = Layout::packed;
    asked.activation = ActivationKind::swiglu;
    asked.needs_grad = true;
    asked.rows = {3, 2048};
    asked.width = 200;
    return asked;
}

LossRequest loss_of_a_job() {
    LossRequest asked;
    asked.needs_grad = true;
    asked.rows = {1, 4096};
    asked.classes = 5000;
    asked.z_loss = 0.01;
    return asked;
}

LinearRequest linear_of_a_job() {
    LinearRequest asked;
    asked.needs_grad = true;
    asked.rows = {1, 2048};
    asked.in = 1100;
    asked.out = 96;
    asked.bias = true;
    return asked;
}

template <class Any>
Asked shared(const Any& request) {
    return std::make_shared<const Any>(request);
}

}  // namespace

TEST_CASE("right components pass what is asked, as many cases as are asked for") {
    const std::pair<const test::LocalComponent*, Asked> all[] = {
        {&test::attention_entry, shared(attention_of_a_job())},
        {&test::normalization_entry, shared(norm_of_a_job())},
        {&test::activation_entry, shared(activation_of_a_job())},
        {&test::loss_entry, shared(loss_of_a_job())},
        {&test::linear_entry, shared(linear_of_a_job())}};
    for (const auto& [sample, request] : all) {
        const Report report = conformance::verify(test::under_test(*sample), asking(request));
        INFO(test::codes_of(report));
        CHECK(report.faults.empty());
        CHECK(report.cases == 6);
        CHECK(report.skipped == 0);
    }
}

TEST_CASE(
    "the first case of a request is its smallest, the second its largest, and a seed repeats the others") {
    const auto names = names_of(test::linear_entry, asking(shared(linear_of_a_job())));
    REQUIRE(names.size() == 6);
    CHECK_THAT(names[0], test::contains("linear/dense+bias/asked/0/0/f32/1x1100x96"));
    CHECK_THAT(names[1],
               test::contains("/asked/0/1/f32/837x1100x96"));  // a million values of x and y
    CHECK(std::set<std::string>(names.begin(), names.end()).size() == 6);
    CHECK(names_of(test::linear_entry, asking(shared(linear_of_a_job()))) == names);
    auto other = asking(shared(linear_of_a_job()));
    other.drawn_seed = 2;
    CHECK(names_of(test::linear_entry, other) != names);

    auto two = asking(shared(attention_of_a_job()), 2);
    two.requests.push_back(shared([] {
        auto packed = attention_of_a_job();
        packed.layout = Layout::packed;
        packed.masks.insert(MaskKind::documents);
        packed.dtype = DType::bfloat16;
        return packed;
    }()));
    const auto attentions = names_of(test::attention_entry, two);
    REQUIRE(attentions.size() == 4);
    CHECK_THAT(attentions[0], test::contains("attention/padded/causal/asked/0/0/f32"));
    CHECK_THAT(attentions[1], test::contains("N320"));
    CHECK_THAT(attentions[3], test::contains("attention/packed/causal/asked/1/1/bf16"));
}

TEST_CASE("calls give offsets, a scale and ask for log-sum-exps where the request says that they may") {
    auto asked = attention_of_a_job();
    asked.phase = Phase::decode;
    asked.needs_grad = false;
    asked.dropout = 0.0;
    asked.q_length = {1, 4};
    asked.masks.insert(MaskKind::key_lengths);
    const auto all_have = [&](const char* part) {
        const auto names = names_of(test::attention_entry, asking(shared(asked)));
        const auto found = std::count_if(names.begin(), names.end(), [&](const std::string& name) {
            return name.find(part) != std::string::npos;
        });
        CHECK((found == 0 || found == 6));
        return found > 0;
    };
    for (const char* part : {"/offsets", "/scale", "/lse"}) CHECK_FALSE(all_have(part));
    asked.query_offsets = asked.custom_scale = asked.want_lse = true;
    for (const char* part : {"/offsets", "/scale", "/lse"}) CHECK(all_have(part));
    const Report report = conformance::verify(test::under_test(test::attention_entry), asking(shared(asked)));
    INFO(test::codes_of(report));
    CHECK(report.faults.empty());
}

TEST_CASE("of optimizers the cases run that are alike") {
    OptimizerRequest asked;
    asked.algorithm = OptimizerKind::lion;
    asked.clip = true;
    const auto names = names_of(test::optimizer_entry, asking(shared(asked)));
    CHECK(names.size() > 5);
    for (const auto& name : names) {
        INFO(name);
        CHECK(name.find("lion") != std::string::npos);
        CHECK(name.find("/f32") != std::string::npos);
    }
}

TEST_CASE("what is wrong at the sizes of a job is found by its cases") {
    struct Wrong {
        const test::LocalComponent& sample;
        const char* mutation;
        Asked request;
    };
    const Wrong all[] = {
        {test::attention_entry, "odd_past_8_heads", shared(attention_of_a_job())},
        {test::attention_entry, "odd_past_300_queries", shared(attention_of_a_job())},
        {test::attention_entry, "causal_off_by_one", shared(attention_of_a_job())},
        {test::attention_entry, "dropout_missing_in_dp", shared(attention_of_a_job())},
        {test::loss_entry, "ignores_z_loss", shared(loss_of_a_job())},
        {test::linear_entry, "last_column_past_1024", shared(linear_of_a_job())},
        {test::linear_entry, "odd_past_64_rows", shared(linear_of_a_job())},
        {test::linear_entry, "bias_not_in_last_row", shared(linear_of_a_job())},
    };
    for (const auto& [sample, mutation, request] : all) {
        VerifyOptions options = asking(request);
        options.max_faults = 1;
        INFO(mutation);
        CHECK_FALSE(conformance::verify(test::under_test(sample, mutation), options).faults.empty());
    }
}
