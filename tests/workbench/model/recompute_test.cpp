// Activation checkpointing: gradients are the same bits, whatever runs again, with dropout, over two
// micro-batches.
// To add a case: a model's overrides in `models`, or a value of train.recompute.
#include "run_model.h"

#include <ATen/Context.h>

#include <switchyard_test.h>

using namespace switchyard;
using config::Recompute;

namespace {

struct Subject {
    std::string fixture;
    std::vector<std::string> overrides;
};

std::vector<Subject> models() {
    std::vector<Subject> all{{"transformers_tiny", test::tiny_bert()}};
    all[0].overrides.emplace_back("task.kind=masked_lm");
    all.push_back({"transformers_tiny", all[0].overrides});
    all[1].overrides.emplace_back("model.norm_position=pre");
    for (const auto& name : test::language_models())
        all.push_back({"transformers_" + name, test::language_model(name)});
    return all;
}

// Gradients of two micro-batches, added up.
std::map<std::string, at::Tensor> gradients(test::Model& model, const test::FixtureCase& fixture,
                                            Recompute recompute, std::int64_t every) {
    at::Generator generator = at::globalContext().defaultGenerator(c10::DeviceType::CPU);
    generator.set_current_seed(7);
    model.parameters.zero_gradients();
    auto batch = test::batch_of(fixture, model.config.batch.planned_layout());
    model::ForwardContext context;
    context.phase = Phase::train;
    context.recompute = recompute;
    context.recompute_every = every;
    for (const std::int64_t document : {0, 100}) {
        batch.source.tokens.first_document = batch.target.tokens.first_document = document;
        model.model->task(context, batch, {}).loss.loss.backward();
    }
    std::map<std::string, at::Tensor> result;
    for (const auto& parameter : model.parameters.all()) {
        if (parameter.value.grad().defined()) result[parameter.name] = parameter.value.grad().clone();
    }
    return result;
}

std::string first_difference(const std::map<std::string, at::Tensor>& found,
                             const std::map<std::string, at::Tensor>& expected) {
    if (found.size() != expected.size()) return "other parameters have gradients";
    for (const auto& [name, gradient] : expected) {
        if (!found.contains(name)) return name;
        // torch looks the bias of all layers up once, and so sums its gradient over layers first.
        const bool shared = name.ends_with("relative_bias");
        const auto& other = found.at(name);
        if (shared ? !other.allclose(gradient, 1e-5, 1e-7) : !other.equal(gradient)) return name;
    }
    return "";
}

std::uint64_t attention_calls(const test::Model& model) {
    std::uint64_t calls = 0;
    for (const auto& row : model.plan.executed()) {
        if (row.slot != "attention") continue;
        for (const auto& [variant, count] : row.calls) calls += count;
    }
    return calls;
}

}  // namespace

TEST_CASE("recomputation gives the same gradients, bit for bit") {
    const std::string backend = GENERATE("naive", "torch");
    const auto layout = GENERATE(Layout::padded, Layout::packed);
    for (const auto& subject : models()) {
        auto overrides = subject.overrides;
        overrides.insert(overrides.end(), {"model.dropout=0.1", "model.attention_dropout=0.1"});
        test::Model model(test::configured(backend, layout, overrides));
        const auto fixture = test::load_fixture(subject.fixture).at(0);
        const auto expected = gradients(model, fixture, Recompute::none, 1);
        for (const auto recompute : {Recompute::layers, Recompute::attention, Recompute::feed_forward}) {
            for (const std::int64_t every : {1, 2}) {
                INFO(subject.fixture << ", " << backend << ", " << name(layout) << ", " << name(recompute)
                                     << " in every " << every);
                CHECK(first_difference(gradients(model, fixture, recompute, every), expected) == "");
            }
        }
    }
}

TEST_CASE("what is recomputed runs twice, in the layers that were asked for") {
    const auto subject = models()[2];
    test::Model model(test::configured("naive", Layout::padded, subject.overrides));  // of two layers
    const auto fixture = test::load_fixture(subject.fixture).at(0);
    const auto calls = [&](Recompute recompute, std::int64_t every) {
        const auto before = attention_calls(model);
        gradients(model, fixture, recompute, every);
        return attention_calls(model) - before;
    };
    CHECK(calls(Recompute::none, 1) == 4);  // two micro-batches
    CHECK(calls(Recompute::layers, 1) == 8);
    CHECK(calls(Recompute::attention, 2) == 6);
    CHECK(calls(Recompute::feed_forward, 1) == 4);
}
