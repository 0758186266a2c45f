// What must hold for every shape of model: packed and padded batches give the same, dropout included, and
// what comes later changes nothing before.
// To add a shape: a line in shapes().
#include "run_model.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

using Shape = std::vector<std::string>;

const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all{
        {"model.type=gpt"},
        {"model.type=gpt", "model.positions=rotary", "model.norm=rms_norm", "model.activation=swiglu",
         "model.bias=false", "model.tie_embeddings=false", "model.kv_heads=2"},
        {"model.type=gpt", "model.positions=rotary", "model.kv_heads=1", "model.head_dim=6"},
        {"model.type=gpt", "model.positions=alibi", "model.window=3", "model.norm_position=post"},
        {"model.type=gpt", "model.positions=sinusoidal", "model.prefix=7", "model.soft_cap=5.0"},
        {"model.type=gpt", "model.norm=rms_norm", "model.activation=geglu_erf", "model.bias=false"},
        {"model.type=t5"},
        {"model.type=t5", "model.activation=geglu_tanh", "model.tie_embeddings=false",
         "model.decoder_layers=1"},
        {"model.type=t5", "model.positions=rotary", "model.kv_heads=2", "model.bias=true"},
        {"model.type=t5", "model.positions=learned", "model.norm=layer_norm", "model.norm_position=post"}};
    return all;
}

bool contains(const Shape& shape, const std::string& key) {
    return std::any_of(shape.begin(), shape.end(), [&](const auto& part) { return part.starts_with(key); });
}

std::string text(const Shape& shape) {
    std::string all;
    for (const auto& part : shape) all += part + " ";
    return all;
}

config::Config configured(const std::string& backend, Layout layout, const Shape& shape, Shape more = {}) {
    Shape overrides{"model.layers=2",      "model.hidden_size=32",   "model.heads=4",
                    "model.vocab_size=50", "model.max_positions=24", "model.intermediate_size=48",
                    "batch.size=3",        "batch.max_length=24"};
    overrides.insert(overrides.end(), shape.begin(), shape.end());
    overrides.insert(overrides.end(), more.begin(), more.end());
    return test::configured(backend, layout, overrides);
}

test::FixtureCase batch_for(const config::Config& config) {
    const std::string name = config.model.type == config::ModelType::t5 ? "t5" : "gpt2";
    auto fixture = test::load_fixture("transformers_" + name).at(0);
    for (auto& [key, tensor] : fixture.tensors) {
        if (key == "ids" || key == "target_ids") tensor = tensor.remainder(config.model.vocab_size);
        if (key == "labels") tensor = tensor.where(tensor.lt(0), tensor.remainder(config.model.vocab_size));
    }
    return fixture;
}

void compare(const test::Outputs& one, const test::Outputs& other) {
    CHECK(test::difference(one.logits, other.logits) == "");
    CHECK(test::difference(one.loss, other.loss) == "");
    REQUIRE(one.gradients.size() == other.gradients.size());
    for (const auto& [name, gradient] : one.gradients) {
        INFO(name);
        CHECK(test::gradient_difference(other.gradients.at(name), gradient) == "");
    }
}

// Logits of each real output token after `change` was done to the batch, in eval.
template <class Change>
at::Tensor logits_after(test::Model& model, const test::FixtureCase& fixture, const Change& change) {
    const at::NoGradGuard no_grad;
    auto batch = test::batch_of(fixture, Layout::packed);
    change(batch);
    return model.model->logits({}, batch);
}

}  // namespace

TEST_CASE("packed and padded batches give one loss and one gradient, with the same elements dropped") {
    const std::string backend = GENERATE("naive", "torch");
    const bool naive = backend == "naive";
    for (const auto& shape : shapes()) {
        // LibTorch has no soft cap, and its dropout depends on the layout.
        if (!naive && contains(shape, "model.soft_cap")) continue;
        const Shape dropout = naive ? Shape{"model.dropout=0.2", "model.attention_dropout=0.2"} : Shape{};
        INFO(backend << ": " << text(shape));
        auto padded_config = configured(backend, Layout::padded, shape, dropout);
        const auto fixture = batch_for(padded_config);
        test::Model padded(padded_config), packed(configured(backend, Layout::packed, shape, dropout));
        compare(test::run(padded, fixture), test::run(packed, fixture));
    }
}

TEST_CASE("what comes later in a text changes no logits before it") {
    for (const auto& shape : shapes()) {
        INFO(text(shape));
        test::Model made(configured("naive", Layout::packed, shape));
        const auto fixture = batch_for(made.config);
        const bool t5 = made.config.model.type == config::ModelType::t5;
        const auto length = fixture[t5 ? "target_lengths" : "lengths"][0].item<std::int64_t>();
        const auto before = logits_after(made, fixture, [](Batch&) {});
        const auto after = logits_after(made, fixture, [&](Batch& batch) {
            auto& ids = t5 ? batch.target.ids : batch.source.ids;
            ids = ids.clone();
            ids[length - 1] = ids[length - 1].add(1).remainder(made.config.model.vocab_size);
        });
        CHECK(before.narrow(0, 0, length - 1).equal(after.narrow(0, 0, length - 1)));
        CHECK_FALSE(before[length - 1].equal(after[length - 1]));
        // Nor does one text change another's.
        CHECK(before.narrow(0, length, before.size(0) - length)
                  .equal(after.narrow(0, length, before.size(0) - length)));
    }
}

TEST_CASE("a decoder sees all of its source, and that of no other text") {
    test::Model made(configured("naive", Layout::packed, {"model.type=t5"}));
    const auto fixture = batch_for(made.config);
    const auto length = fixture["lengths"][0].item<std::int64_t>();
    const auto answer = fixture["target_lengths"][0].item<std::int64_t>();
    const auto before = logits_after(made, fixture, [](Batch&) {});
    const auto after = logits_after(made, fixture, [&](Batch& batch) {
        batch.source.ids = batch.source.ids.clone();
        batch.source.ids[length - 1] = batch.source.ids[length - 1].add(1).remainder(50);
    });
    CHECK_FALSE(before[0].equal(after[0]));
    CHECK(before.narrow(0, answer, before.size(0) - answer)
              .equal(after.narrow(0, answer, before.size(0) - answer)));
}

TEST_CASE("a t5 without a target says so") {
    test::Model made(configured("naive", Layout::padded, {"model.type=t5"}));
    auto batch = test::batch_of(batch_for(made.config), Layout::padded);
    batch.target = {};
    const at::NoGradGuard no_grad;
    CHECK_THROWS_WITH(made.model->logits({}, batch),
                      "a t5 needs a second sequence for its decoder: the batch has no target");
}
