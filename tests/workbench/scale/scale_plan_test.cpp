// Memory, messages and steps of many ranks, of small models whose numbers are counted by hand.
#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/config/load.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/scale/scale_plan.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::scale;
using test::Approx;
using test::contains;

namespace {

config::Config job(const std::string& more = "") {
    config::LoadRequest request;
    request.path = "job.toml";
    request.text =
        "[model]\ntype = \"gpt\"\nlayers = 2\nhidden_size = 64\nheads = 4\nintermediate_size = 256\n"
        "vocab_size = 256\nmax_positions = 32\n[task]\nkind = \"causal_lm\"\n[batch]\nsize = 8\n"
        "max_length = 32\n" +
        more;
    const auto loaded = config::load(request);
    INFO(config::render(loaded.problems));
    REQUIRE(loaded.config.has_value());
    return *loaded.config;
}

ScaleSettings settings_of(std::int64_t ranks) {
    ScaleSettings settings;
    settings.ranks = ranks;
    settings.step_ms = 30.0;
    settings.rates.network.within = settings.rates.network.between = {1.0, 10.0};
    return settings;
}

// Weights of attention and feed-forward with biases, two norms; embeddings, positions, the last norm; the
// head is tied to the embeddings.
constexpr std::int64_t of_layer = 4 * (64 * 64 + 64) + (64 * 256 + 256) + (256 * 64 + 64) + 2 * 128;
constexpr std::int64_t values = 2 * of_layer + 256 * 64 + 32 * 64 + 128;

}  // namespace

TEST_CASE("memory of a rank by part") {
    const auto plan = plan_scale(job(), settings_of(4));
    CHECK(plan.memory.parameters == 4 * values);
    CHECK(plan.memory.gradients == 4 * values);
    CHECK(plan.memory.optimizer_state == 8 * values);
    CHECK(plan.memory.buckets == 0);
    CHECK(plan_scale(job("[optimizer]\nalgorithm = \"sgd\"\nmomentum = 0.0\n"), settings_of(4))
              .memory.optimizer_state == 0);
    CHECK(plan_scale(job("[distributed]\ncompression = \"bfloat16\"\n"), settings_of(4)).memory.buckets ==
          2 * values);
    auto narrow = settings_of(4);
    narrow.multiplied_in = DType::bfloat16;
    CHECK(2 * plan_scale(job(), narrow).memory.activations == plan.memory.activations);
    CHECK(plan_scale(job("[train]\nrecompute = \"layers\"\n"), settings_of(4)).memory.activations <
          plan.memory.activations);
}

TEST_CASE("only what is trained has gradients and a state, travels and steps") {
    const std::string lora = "[lora]\nrank = 2\ntargets = [\"*.attention.q\"]\n";
    auto settings = settings_of(4);
    settings.trained = [](const std::string& name) { return name.find(".lora_") != std::string::npos; };
    const auto plan = plan_scale(job(lora), settings);
    constexpr std::int64_t adapters = 2 * 2 * (64 + 64);
    CHECK(plan.memory.parameters == 4 * (values + adapters));
    CHECK(plan.memory.gradients == 4 * adapters);
    CHECK(plan.memory.optimizer_state == 8 * adapters);
    CHECK(plan.sent_bytes == Approx(1.5 * 4.0 * adapters));
    REQUIRE(plan.asked().buckets.size() == 1);
    CHECK(plan.asked().buckets[0].bucket.parameters == 4);
    CHECK(plan.steps[0].step_ms == Approx(30.0));
    // Forward, and the gradients of inputs: twice in attention, none before the first adapter.
    constexpr double products = 12 * 64 * 64, attention = 2 * 64 * 32, head = 64 * 256;
    constexpr double a = 2 * 64, b = 2 * 64;
    const double forward = 2 * (products + attention + a + b) + head;
    const double backward = 2 * (products + 2 * attention) - 3 * 64 * 64 + head + (1 + 2) * a + 2 * 2 * b;
    CHECK(plan.stages[0].micro_batch_flops == Approx(2 * 256 * forward));
    CHECK(plan.step_flops == Approx(2 * 256 * (forward + backward)));
    const auto full = plan_scale(job(lora + "[distributed]\nshard = \"full\"\n"), settings);
    CHECK(full.memory.parameters == values + adapters);
    CHECK(full.memory.gradients == adapters);
    // Layers are gathered in forward and the first once more, the root once; adapters' sums alone travel.
    constexpr std::int64_t layer = 12 * 64 * 64 + adapters / 2, root = values - 2 * 12 * 64 * 64;
    CHECK(full.messages == 3 * (2 + 1 + 2 + 1));
    CHECK(full.sent_bytes == Approx(0.75 * 4.0 * static_cast<double>(3 * layer + adapters + root)));
}

TEST_CASE("masters of lower precision, an average and what Muon keeps without momentum are state too") {
    const auto state = [](const config::Config& config) {
        return plan_scale(config, settings_of(4)).memory.optimizer_state;
    };
    auto narrow = job();
    narrow.precision.parameter_dtype = DType::bfloat16;
    CHECK(state(narrow) == (8 + 4) * values);
    narrow.distributed.shard = config::Sharding::optimizer;
    CHECK(state(narrow) == (8 + 4) * values / 4);
    CHECK(state(job("[train]\nema = 0.999\n")) == (8 + 4) * values);
    constexpr std::int64_t vectors = 2 * (4 * 64 + 256 + 64 + 2 * 128) + 128;
    CHECK(state(job("[optimizer]\nalgorithm = \"muon\"\nmomentum = 0.0\n")) ==
          4 * (values - vectors) + 8 * vectors);
}

TEST_CASE("a divided state takes its part of the memory, and parameters travel once more") {
    const auto whole = plan_scale(job(), settings_of(4));
    const auto divided = plan_scale(job("[distributed]\nshard = \"optimizer\"\n"), settings_of(4));
    CHECK(divided.memory.optimizer_state == 2 * values);
    CHECK(divided.memory.parameters == whole.memory.parameters);
    CHECK(divided.messages == whole.messages + 3);
    CHECK(divided.sent_bytes == Approx(1.5 * whole.sent_bytes));
    // Three messages of a quarter each at 1 GB/s, after a step that each rank does a quarter of.
    CHECK(divided.asked().gather_ms == Approx(3 * (0.01 + static_cast<double>(values) / 1e6)));
    CHECK(divided.asked().step_ms == Approx(whole.asked().step_ms + divided.asked().gather_ms));
    CHECK(whole.asked().gather_ms == 0.0);
}

TEST_CASE("parts of layers take their part of the memory, and what blocks make is summed up") {
    const auto whole = plan_scale(job(), settings_of(2));
    const auto parts = plan_scale(job("[distributed]\nmesh = { tensor = 2 }\n"), settings_of(4));
    // Weights, the biases of what is cut along its rows, and words.
    constexpr std::int64_t cut = 2 * (4 * 64 * 64 + 3 * 64 + 2 * 64 * 256 + 256) + 256 * 64;
    CHECK(parts.memory.parameters == 4 * (values - cut / 2));
    CHECK(parts.memory.optimizer_state == 8 * (values - cut / 2));
    CHECK(parts.memory.activations < whole.memory.activations);
    CHECK(parts.tensor_ranks == 2);
    REQUIRE(parts.steps.size() == 2);
    CHECK(parts.steps[0].ranks == 2);
    CHECK(parts.asked().ranks == 4);
    // Two blocks in each of two layers, and words or what the head reads, forward and backward: half of
    // 8 x 32 x 64 numbers, twice, at 1 GB/s; and once half of three of two parts for each token.
    const double bytes = 8 * 32 * 64 * 4, found = 8 * 32 * 3 * 2 * 4;
    const double waits = 10 * 2 * (0.01 + bytes / 2e6) + 0.01 + found / 2e6;
    CHECK(parts.asked().waits_ms == Approx(waits));
    CHECK(parts.steps[0].step_ms == Approx(30.0 + waits));
    CHECK(parts.steps[0].efficiency == Approx(30.0 / (30.0 + waits)));
    const auto buckets = static_cast<std::int64_t>(parts.asked().buckets.size());
    CHECK(parts.messages == 2 * buckets + 2 * 10 + 1);
    CHECK(parts.sent_bytes == Approx(4.0 * (values - cut / 2) + 10 * bytes + found / 2));
    CHECK_THROWS_WITH(plan_scale(job("[distributed]\nmesh = { tensor = 2 }\n"), settings_of(3)),
                      contains("distributed.mesh.tensor") && contains("and there are 3 ranks"));
}

TEST_CASE("tokens that are divided between blocks take half of the memory there, and travel once more") {
    const std::string mesh = "[distributed]\nmesh = { tensor = 2 }\n";
    const auto parts = plan_scale(job(mesh), settings_of(4));
    const auto divided = plan_scale(job(mesh + "sequence_parallel = true\n"), settings_of(4));
    CHECK(divided.memory.parameters == parts.memory.parameters);
    // Of 256 tokens: one of the two hidden states that each of four blocks keeps, and the last norm's.
    CHECK(parts.memory.activations - divided.memory.activations == 4 * 256 * (4 + 1) * 64 / 2);
    // Gathered behind the last block, and its gradient before the first: half a sum each.
    CHECK(divided.messages == parts.messages + 2);
    const double bytes = 8 * 32 * 64 * 4;
    CHECK(divided.asked().waits_ms == Approx(parts.asked().waits_ms + 2 * (0.01 + bytes / 2e6)));
    const auto again = [&](const std::string& more) {
        return plan_scale(job(mesh + more + "[train]\nrecompute = \"attention\"\n"), settings_of(4)).messages;
    };
    CHECK(again("sequence_parallel = true\n") == again("") + 2 + 2);  // half a sum of each of two layers
}

TEST_CASE("each stage has its layers, and all wait for what passes through them") {
    const std::string micro = "[train]\ngrad_accumulation_steps = 4\n";
    const auto whole = plan_scale(job(micro), settings_of(2));
    const auto piped = plan_scale(job(micro + "[distributed]\nmesh = { pipeline = 2 }\n"), settings_of(4));
    REQUIRE(piped.stages.size() == 2);
    CHECK(piped.stages[0].has == "embeddings, decoder.0");
    CHECK(piped.stages[1].has == "decoder.1, head");
    // Both have the table of words, which is the head's too; the last one the last norm.
    CHECK(piped.stages[0].parameters == of_layer + 256 * 64 + 32 * 64);
    CHECK(piped.stages[1].parameters == of_layer + 256 * 64 + 128);
    CHECK(piped.stages[0].kept == 2);
    CHECK(piped.stages[1].kept == 1);
    CHECK(piped.stages[0].micro_batch_flops + piped.stages[1].micro_batch_flops ==
          Approx(whole.stages[0].micro_batch_flops));
    const auto activations = [&](std::size_t stage) { return piped.stages[stage].memory.activations; };
    CHECK(activations(0) / 2 + activations(1) == whole.memory.activations);
    CHECK(piped.model_ranks() == 2);
    CHECK(piped.asked().ranks == 4);
    // The last stage computes more, by its head; it waits for the first stage at both ends, for what travels
    // there and back, and for the sum of both words.
    const double share = piped.stages[0].micro_batch_flops / piped.stages[1].micro_batch_flops;
    const double micro_ms = 30.0 / 4, travels = 0.01 + 8 * 32 * 64 * 4 / 1e6;
    const double words = 2 * (0.01 + 256 * 64 * 4 / 2e6);
    CHECK(piped.stages[1].waits_ms == Approx(micro_ms * share + 2 * travels));
    CHECK(piped.asked().waits_ms == Approx(piped.stages[1].waits_ms + words));
    CHECK(piped.asked().efficiency < 0.85);
    const auto gpipe = plan_scale(
        job(micro + "[distributed]\nschedule = \"gpipe\"\nmesh = { pipeline = 2 }\n"), settings_of(4));
    CHECK(gpipe.stages[1].kept == 4);
    // Gradients of four messages back, two and two of sums over data, and of words.
    const auto buckets = static_cast<std::int64_t>(piped.asked().buckets.size());
    CHECK(piped.messages == 4 + 2 * buckets + 2);
}

TEST_CASE("the words of the first stage and the last are summed up over what joins their hosts") {
    const auto piped = job("[train]\ngrad_accumulation_steps = 4\n[distributed]\nmesh = { pipeline = 2 }\n");
    auto settings = settings_of(4);
    settings.rates.network.within = {100.0, 1.0};
    const auto words_ms = [&](std::int64_t ranks_per_host) {
        settings.rates.network.ranks_per_host = ranks_per_host;
        const auto plan = plan_scale(piped, settings);
        return plan.asked().waits_ms - plan.stages[1].waits_ms;
    };
    CHECK(words_ms(4) == Approx(2 * (0.001 + 256 * 64 * 4 / 2e8)));
    CHECK(words_ms(2) == Approx(2 * (0.01 + 256 * 64 * 4 / 2e6)));
}

TEST_CASE("divided parameters take their part of the memory, and travel layer by layer") {
    const auto whole = plan_scale(job(), settings_of(4));
    const auto full = plan_scale(job("[distributed]\nshard = \"full\"\n"), settings_of(4));
    constexpr std::int64_t layer = 12 * 64 * 64, root = values - 2 * layer;
    CHECK(full.memory.parameters == values);
    CHECK(full.memory.gradients == values);
    CHECK(full.memory.optimizer_state == 2 * values);
    CHECK(full.memory.activations == whole.memory.activations);
    CHECK(full.memory.gathered == 4 * (2 * root + 4 * layer));
    CHECK(whole.memory.gathered == 0);
    // Both layers in forward, the first in backward, the sums of both, and the root with its
    // sum.
    CHECK(full.messages == 3 * (2 + 1 + 2 + 2));
    CHECK(full.sent_bytes == Approx(0.75 * 4.0 * static_cast<double>(5 * layer + 2 * root)));
    // Messages of a quarter at 1 GB/s: what is waited for before anything computes.
    const auto travels = [](std::int64_t sent) { return 3 * (0.01 + static_cast<double>(sent) / 1e6); };
    CHECK(full.asked().gather_ms == Approx(travels(root) + travels(layer)));
    CHECK(full.asked().buckets.size() == 3);
    CHECK(full.asked().communication_ms == Approx(2.0 * travels(layer) + travels(root)));
    // Two transfers lie before all and the last two sums behind.
    CHECK(full.asked().step_ms ==
          Approx(full.steps[0].step_ms + full.asked().gather_ms + full.asked().exposed_ms));
    CHECK(full.steps[0].step_ms == Approx(30.0));
    CHECK(full.asked().exposed_ms == Approx(travels(layer) + travels(root)));
}

TEST_CASE("ranks that have the same part of each layer divide it once more") {
    const auto plan = [](const std::string& shard) {
        return plan_scale(job("[distributed]\nshard = \"" + shard + "\"\nmesh = { tensor = 2 }\n"),
                          settings_of(4));
    };
    const auto parts = plan("none"), state = plan("optimizer"), full = plan("full");
    CHECK(2 * state.memory.optimizer_state == parts.memory.optimizer_state);
    CHECK(state.memory.parameters == parts.memory.parameters);
    CHECK(2 * full.memory.parameters == parts.memory.parameters);
    CHECK(2 * full.memory.gradients == parts.memory.gradients);
    CHECK(full.memory.gathered > 0);
    for (const auto& one : {parts, state, full}) {
        CHECK(one.asked().ranks == 4);
        CHECK(one.steps.front().ranks == 2);
        CHECK(one.asked().waits_ms == parts.asked().waits_ms);
        CHECK(one.asked().waits_ms > 0.0);
        CHECK(one.steps.front().efficiency == Approx(parts.steps.front().efficiency));
    }
    const auto alone =
        plan_scale(job("[distributed]\nshard = \"full\"\nmesh = { tensor = 2 }\n"), settings_of(2));
    CHECK(alone.memory.gathered == 0);
    CHECK(alone.memory.parameters == parts.memory.parameters);
    // Values are gathered once after the step, or of layers before they run.
    CHECK(state.sent_bytes > parts.sent_bytes);
    CHECK(full.sent_bytes > parts.sent_bytes);
}

TEST_CASE("what a rank sends in a step") {
    const auto plan = plan_scale(job(), settings_of(4));
    const auto buckets = static_cast<std::int64_t>(plan.asked().buckets.size());
    CHECK(buckets == 1);  // less than a mebibyte
    CHECK(plan.messages == 2 * 3 * buckets);
    CHECK(plan.sent_bytes == Approx(1.5 * 4.0 * static_cast<double>(values)));
    const auto rounded = plan_scale(job("[distributed]\ncompression = \"bfloat16\"\n"), settings_of(4));
    CHECK(2.0 * rounded.sent_bytes == Approx(plan.sent_bytes));
}

TEST_CASE("steps at powers of two below the number that is asked for") {
    const auto plan = plan_scale(job(), settings_of(6));
    std::vector<std::int64_t> ranks;
    for (const auto& step : plan.steps) ranks.push_back(step.ranks);
    CHECK(ranks == std::vector<std::int64_t>{1, 2, 4, 6});
    CHECK(plan.steps[0].step_ms == Approx(30.0));
    for (std::size_t i = 1; i < plan.steps.size(); ++i)
        CHECK(plan.steps[i].efficiency < plan.steps[i - 1].efficiency);
    CHECK(plan_scale(job(), settings_of(1024)).asked().ranks == 1024);
}

TEST_CASE("of several backwards in a step only the last one sums gradients up") {
    const auto one = plan_scale(job(), settings_of(2));
    const auto four = plan_scale(job("[train]\ngrad_accumulation_steps = 4\n"), settings_of(2));
    CHECK(four.asked().forward_end_ms > one.asked().forward_end_ms);
    CHECK(four.samples == 32);
    CHECK(four.messages == one.messages);
}

TEST_CASE("without a measured step its FLOPs and a described host say how long it takes") {
    auto settings = settings_of(8);
    settings.step_ms.reset();
    settings.rates = machine::describe("h100").rates;
    settings.utilization = 0.5;
    const auto plan = plan_scale(job(), settings);
    const double products_ms = plan.step_flops / (66.9e9 * 0.5);
    const double optimizer_ms = 28.0 * static_cast<double>(values) / 3350e6;
    CHECK(plan.steps[0].step_ms == Approx(products_ms + optimizer_ms));
}

TEST_CASE("a budget of tokens holds as many samples as are that long, not one a token") {
    auto config = job();
    config.batch.tokens = config.batch.size = 256;
    CHECK(plan_scale(config, settings_of(2)).samples == 256 / 32);
    config.batch.tokens = config.batch.size = 16;
    CHECK(plan_scale(config, settings_of(2)).samples == 1);
}

TEST_CASE("what backward runs again takes its time where the step is worked out") {
    const auto plan_of = [](const std::string& train, const std::string& more = "") {
        auto settings = settings_of(2);
        settings.step_ms.reset();
        settings.rates.tflops_float32 = 1.0;
        return plan_scale(job("[train]\n" + train + more), settings);
    };
    const auto kept = plan_of(""), layers = plan_of("recompute = \"layers\"\n"),
               some = plan_of("recompute = \"layers\"\nrecompute_every = 2\n"),
               attention = plan_of("recompute = \"attention\"\n");
    // Of 8 x 32 tokens: both layers' products, and those of attention with 32 keys each.
    constexpr double of_attention = 2 * 256 * 2 * (4 * 64 * 64 + 2 * 32 * 64);
    constexpr double of_layers = of_attention + 2 * 256 * 2 * (2 * 64 * 256);
    CHECK(layers.step_flops - kept.step_flops == Approx(of_layers));
    CHECK(some.step_flops - kept.step_flops == Approx(of_layers / 2));
    CHECK(attention.step_flops - kept.step_flops == Approx(of_attention));
    const double more_ms = of_layers / (1e9 * 0.4);
    CHECK(layers.steps[0].step_ms - kept.steps[0].step_ms == Approx(more_ms));
    CHECK(layers.steps[0].forward_end_ms == Approx(kept.steps[0].forward_end_ms));
    const std::string full = "[distributed]\nshard = \"full\"\n";
    CHECK(plan_of("recompute = \"layers\"\n", full).steps[0].step_ms == Approx(layers.steps[0].step_ms));
    const std::string piped = "[distributed]\nmesh = { pipeline = 2 }\n";
    const auto stage = plan_of("recompute = \"layers\"\n", piped), whole = plan_of("", piped);
    CHECK(stage.step_flops - whole.step_flops == Approx(of_layers / 2));
    CHECK(stage.asked().step_ms > whole.asked().step_ms + more_ms / 2);
    // What was measured has it in it.
    CHECK(plan_scale(job("[train]\nrecompute = \"layers\"\n"), settings_of(2)).steps[0].step_ms ==
          Approx(30.0));
}

TEST_CASE("what is not known is asked for, with how to tell it") {
    auto settings = settings_of(8);
    settings.rates.network = {};
    CHECK_THROWS_WITH(plan_scale(job(), settings), contains("--network GBYTES_PER_SECOND,LATENCY_US"));
    settings = settings_of(16);
    settings.rates.network.ranks_per_host = 8;
    settings.rates.network.between = {};
    CHECK_THROWS_WITH(plan_scale(job(), settings),
                      contains("a host has 8 of them, and no link between hosts"));
    settings = settings_of(2);
    settings.step_ms.reset();
    CHECK_THROWS_WITH(plan_scale(job(), settings), contains("--step-ms") && contains("--host h100"));
}
