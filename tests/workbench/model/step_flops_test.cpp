// Operations of a training step against the formulas of the literature: 6 for each weight and token, and for
// attention 12 for each layer, token, width and length (Chowdhery et al. 2022, PaLM, appendix B).
#include "core/workbench/model/step_flops.h"
#include "core/kernel/config/load.h"
#include "core/workbench/model/outline.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <switchyard_test.h>

using namespace switchyard;
using model::Unit;
using test::Approx;

namespace {

config::Config configured(std::vector<std::string> overrides) {
    for (const char* size : {"model.layers=3", "model.hidden_size=24", "model.heads=4", "model.vocab_size=50",
                             "model.intermediate_size=40", "model.max_positions=16", "batch.max_length=16"})
        overrides.emplace_back(size);
    config::LoadRequest request;
    request.overrides = overrides;
    const auto result = config::load(request);
    CAPTURE(config::render(result.problems));
    REQUIRE(result.config);
    return *result.config;
}

bool all_trained(const std::string&) { return true; }

model::Work costs_of(const config::Config& config) {
    const auto costs = model::step_flops(config, all_trained);
    REQUIRE(costs);
    return *costs;
}

constexpr double layers = 3, width = 24, inner = 40, words = 50;

Batch padded(const std::vector<std::int64_t>& lengths, std::int64_t places) {
    Batch batch;
    const auto rows = static_cast<std::int64_t>(lengths.size());
    batch.source.ids = at::empty({rows, places}, at::kLong);
    batch.source.tokens.lengths = at::tensor(lengths).to(at::kInt);
    for (const auto length : lengths) batch.source.count += length;
    batch.labels = at::zeros({rows}, at::kLong);
    return batch;
}

}  // namespace

TEST_CASE("a training step takes six operations a weight and token, and those of attention") {
    const double block = 4 * width * width + 2 * width * inner;
    const double attention = 12 * layers * width;
    SECTION("labels of whole texts") {
        const auto costs = costs_of(
            configured({"model.type=bert", "task.kind=classification", "task.labels=[\"a\", \"b\"]"}));
        CHECK(costs[Unit::source] == 6 * layers * block);
        CHECK(costs[Unit::source_pairs] == attention);
        CHECK(costs[Unit::sequences] == 6 * (width * width + 2 * width));
        CHECK(costs[Unit::labels] == 0);
        CHECK(costs[Unit::target] == 0);
    }
    SECTION("words that are hidden: only those are predicted") {
        const auto costs = costs_of(configured({"model.type=bert", "task.kind=masked_lm"}));
        CHECK(costs[Unit::source] == 6 * layers * block);
        CHECK(costs[Unit::labels] == 6 * (width * width + width * words));
        const auto all =
            costs_of(configured({"model.type=bert", "task.kind=masked_lm", "task.project_all=true"}));
        CHECK(all[Unit::source] == 6 * (layers * block + width * width + width * words));
        CHECK(all[Unit::labels] == 0);
    }
    SECTION("the next word, by weights of its own or the embeddings'") {
        for (const char* tied : {"true", "false"}) {
            const auto costs =
                costs_of(configured({"model.type=gpt", std::string("model.tie_embeddings=") + tied}));
            CHECK(costs[Unit::source] == 6 * layers * block);
            CHECK(costs[Unit::source_pairs] == attention);
            CHECK(costs[Unit::labels] == 6 * width * words);
        }
    }
    SECTION("fewer keys and values than queries, three matrices in the feed-forward") {
        const auto costs =
            costs_of(configured({"model.type=gpt", "model.activation=swiglu", "model.kv_heads=2"}));
        CHECK(costs[Unit::source] == 6 * layers * (3 * width * width + 3 * width * inner));
        CHECK(costs[Unit::source_pairs] == attention);
    }
    SECTION("an encoder beside a decoder") {
        const auto costs = costs_of(configured({"model.type=t5", "model.head_dim=6"}));
        // What attends to the source projects it once more in each layer, for keys and values.
        CHECK(costs[Unit::source] == 6 * layers * (block + 2 * width * width));
        CHECK(costs[Unit::target] == 6 * layers * (block + 2 * width * width));
        CHECK(costs[Unit::source_pairs] == attention);
        CHECK(costs[Unit::target_pairs] == attention);
        CHECK(costs[Unit::cross_pairs] == attention);
    }
}

TEST_CASE("frozen parameters take no gradient, nor do inputs that nothing trained stands before") {
    const auto config =
        configured({"model.type=bert", "task.kind=classification", "task.labels=[\"a\", \"b\"]"});
    const double block = 4 * width * width + 2 * width * inner;
    const auto head = model::step_flops(config, [](const std::string& name) {
        return name.starts_with("pooler") || name.starts_with("classifier");
    });
    REQUIRE(head);
    CHECK((*head)[Unit::source] == 2 * layers * block);
    CHECK((*head)[Unit::source_pairs] == 4 * layers * width);
    CHECK((*head)[Unit::sequences] == 4 * width * width + 6 * 2 * width);
    const auto last = model::step_flops(config, [](const std::string& name) {
        return name.starts_with("encoder.2") || name.starts_with("pooler") || name.starts_with("classifier");
    });
    REQUIRE(last);
    // Its queries, keys and values and what they are made from: no gradient goes on to the layer before.
    const double last_layer = 4 * 3 * width * width + 6 * (width * width + 2 * width * inner);
    CHECK((*last)[Unit::source] == 2 * 2 * block + last_layer);
    CHECK((*last)[Unit::source_pairs] == (4 + 4 + 12) * width);
}

TEST_CASE("adapters of low rank cost their own products") {
    const auto config = configured({"model.type=gpt", "lora.rank=2", "lora.targets=[\"*.attention.q\"]"});
    const auto costs = model::step_flops(
        config, [](const std::string& name) { return name.find(".lora_") != std::string::npos; });
    REQUIRE(costs);
    const double rank = 2;
    // In the first layer q, k, v and the adapter's A need no gradient of their input: nothing before it is
    // trained. What follows needs that of its input alone.
    const double frozen_before = 2 * 3 * width * width,
                 frozen_after = 4 * (width * width + 2 * width * inner);
    const double a = 4 * width * rank, b = 6 * rank * width;
    const double next_layer = 4 * (4 * width * width + 2 * width * inner) + 6 * width * rank + b;
    CHECK((*costs)[Unit::source] == frozen_before + frozen_after + a + b + (layers - 1) * next_layer);
}

TEST_CASE("operations are not known where a window leaves pairs out") {
    CHECK_FALSE(model::step_flops(configured({"model.type=gpt", "model.window=4"}), all_trained));
    CHECK(model::step_flops(configured({"model.type=gpt", "model.window=16"}), all_trained));
}

TEST_CASE("of the largest batch the pairs within a window count, and a description says as much") {
    const auto attention_of = [](const config::Config& config) {
        double forward = 0.0, all = 0.0, described = 0.0;
        for (const auto& product : model::step_products(config, all_trained)) {
            const double one = product.forward * model::largest_amount(config.batch, product);
            all += one;
            if (product.unit == Unit::source_pairs) forward += one;
        }
        for (const auto& part : model::describe(config)) described += part.forward_flops;
        CHECK(described == Approx(all));
        return forward;
    };
    const double tokens = 8 * 16, of_pair = 4 * layers * width;
    const auto sized = [](std::vector<std::string> more) {
        more.emplace_back("batch.size=8");
        return configured(more);
    };
    CHECK(attention_of(sized({"model.type=gpt"})) == Approx(of_pair * tokens * 16));
    CHECK(attention_of(sized({"model.type=gpt", "model.window=16"})) == Approx(of_pair * tokens * 16));
    CHECK(attention_of(sized({"model.type=gpt", "model.window=4"})) == Approx(of_pair * tokens * 4));
    // Each sees itself and three on both sides, those at the ends fewer.
    const std::vector<std::string> bert{"model.type=bert", "task.kind=masked_lm", "model.window=4"};
    CHECK(attention_of(sized(bert)) == Approx(of_pair * 8 * (16 * 7 - 2 * (1 + 2 + 3))));
}

TEST_CASE("padding is no work, and packed texts do not attend to each other") {
    const auto batch = padded({3, 5, 1}, 8);
    const auto work = model::work_of(batch, -100);
    CHECK(work[Unit::source] == 9);
    CHECK(work[Unit::sequences] == 3);
    CHECK(work[Unit::source_pairs] == 9 + 25 + 1);
    CHECK(work[Unit::labels] == 3);

    auto packed = padded({9}, 9);
    packed.source.ids = at::empty({9}, at::kLong);
    packed.source.tokens.layout = Layout::packed;
    packed.source.tokens.cu_seqlens = at::tensor(std::vector<std::int64_t>{0, 3, 8, 9}).to(at::kInt);
    packed.labels = at::tensor(std::vector<std::int64_t>{1, -100, 1, 1, 1, -100, -100, -100, -100});
    const auto same = model::work_of(packed, -100);
    CHECK(same[Unit::source] == 9);
    CHECK(same[Unit::sequences] == 3);
    CHECK(same[Unit::source_pairs] == 35);
    CHECK(same[Unit::labels] == 4);

    auto full = padded({4, 4}, 4);
    full.source.tokens.lengths.reset();
    full.target.ids = at::empty({2, 3}, at::kLong);
    full.target.tokens.lengths = at::tensor(std::vector<std::int64_t>{3, 2}).to(at::kInt);
    full.target.count = 5;
    const auto pairs = model::work_of(full, -100);
    CHECK(pairs[Unit::source_pairs] == 32);
    CHECK(pairs[Unit::target_pairs] == 13);
    CHECK(pairs[Unit::cross_pairs] == 20);
}
