// Steps through graphs, with a maker of graphs that needs no device: it keeps the work and runs it where a
// device would replay it. To add a case: batches by shape, and what must have happened; or a configuration
// whose steps must come out the same with graphs and without.
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>

#include <ATen/ops/full.h>

#include "core/kernel/runtime/call_observer.h"
#include "core/workbench/train/graph/step_graphs.h"

#include "short_training.h"

#include <kept_work.h>
#include <switchyard_test.h>

using namespace switchyard;
using device_graph::GraphMaker;
using train::StepGraphs;

namespace {

Batch batch_of(std::int64_t rows, std::int64_t length, std::int64_t value) {
    const auto options = at::TensorOptions().dtype(at::kLong);
    Batch batch;
    batch.source.ids = at::full({rows, length}, value, options);
    batch.labels = at::full({rows}, value + 1, options);
    return batch;
}

// What the body of a step saw.
struct Seen {
    std::vector<std::int64_t> values;
    std::set<const void*> places;
    StepGraphs::Body body() {
        return [this](std::vector<Batch>& batches) {
            values.push_back(batches[0].source.ids.sum().item<std::int64_t>() /
                             batches[0].source.ids.numel());
            CHECK(batches[0].labels.sum().item<std::int64_t>() ==
                  (values.back() + 1) * batches[0].labels.numel());
            places.insert(batches[0].source.ids.const_data_ptr());
        };
    }
};

void run(StepGraphs& graphs, std::int64_t rows, std::int64_t length, std::int64_t value) {
    std::vector<Batch> batches{batch_of(rows, length, value)};
    graphs.run(batches);
}

using Counts = std::array<std::int64_t, 3>;

Counts counts(const StepGraphs& graphs) {
    const auto& all = graphs.counts();
    return {all.captures, all.replays, all.uncaptured};
}

}  // namespace

TEST_CASE(
    "a shape is warmed up, captured once, then replayed on the batches of the step, where they always lie") {
    test::KeepingMaker maker;
    Seen seen;
    StepGraphs graphs(maker, seen.body());
    for (std::int64_t step = 1; step <= 5; ++step) run(graphs, 2, 3, step);
    CHECK(counts(graphs) == Counts{1, 3, 2});
    CHECK(seen.values == std::vector<std::int64_t>{1, 2, 3, 4, 5});
    CHECK(seen.places.size() == 1);
}

TEST_CASE("another shape gets a graph of its own, and the first keeps its") {
    test::KeepingMaker maker;
    Seen seen;
    StepGraphs graphs(maker, seen.body());
    for (std::int64_t step = 1; step <= 4; ++step) run(graphs, 2, 3, step);
    for (std::int64_t step = 5; step <= 7; ++step) run(graphs, 2, 4, step);
    run(graphs, 2, 3, 8);
    run(graphs, 2, 4, 9);
    CHECK(counts(graphs) == Counts{2, 2 + 2 + 1 + 1, 3});
    CHECK(graphs.buckets() == 2);
    CHECK(seen.places.size() == 2);
    CHECK(seen.values.back() == 9);
    // one row less, another tensor, another micro-batch
    run(graphs, 1, 3, 1);
    std::vector<Batch> with_lengths{batch_of(2, 3, 1)};
    with_lengths[0].source.tokens.lengths = at::full({2}, 3, at::TensorOptions().dtype(at::kInt));
    graphs.run(with_lengths);
    std::vector<Batch> two{batch_of(2, 3, 1), batch_of(2, 3, 1)};
    graphs.run(two);
    CHECK(graphs.buckets() == 5);
}

TEST_CASE("beyond the most graphs that are kept, steps run as they are") {
    test::KeepingMaker maker;
    Seen seen;
    StepGraphs graphs(maker, seen.body());
    const auto most = static_cast<std::int64_t>(StepGraphs::most_graphs);
    for (std::int64_t length = 1; length <= most; ++length) run(graphs, 1, length, 1);
    for (std::int64_t step = 0; step < 4; ++step) run(graphs, 1, most + 1, 50 + step);
    CHECK(graphs.buckets() == StepGraphs::most_graphs);
    CHECK(counts(graphs) == Counts{0, 0, most + 4});
    CHECK(seen.values.back() == 53);
}

TEST_CASE("what was forgotten is captured anew, and counts go on") {
    test::KeepingMaker maker;
    Seen seen;
    StepGraphs graphs(maker, seen.body());
    for (std::int64_t step = 1; step <= 3; ++step) run(graphs, 2, 3, step);
    graphs.forget();
    for (std::int64_t step = 4; step <= 6; ++step) run(graphs, 2, 3, step);
    CHECK(counts(graphs) == Counts{2, 3, 3});
    CHECK(seen.values == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("a capture that the device refuses says how to train without") {
    test::KeepingMaker maker;
    maker.fails = true;
    Seen seen;
    StepGraphs graphs(maker, seen.body());
    run(graphs, 2, 3, 1);
    run(graphs, 2, 3, 2);
    CHECK_THROWS_WITH(run(graphs, 2, 3, 3),
                      Catch::Matchers::Equals(
                          "this step cannot be captured into a CUDA graph: operation not permitted when "
                          "stream is capturing; set train.cuda_graph = false"));
}

namespace {

// Forty texts, all of one length but every ninth.
class GraphTexts final : public SampleSource {
public:
    std::int64_t size() const override { return 40; }
    std::int64_t length(std::int64_t index) const override { return index % 9 == 8 ? 6 : 8; }
    Sample get(std::int64_t index, std::int64_t) const override {
        Sample sample;
        for (std::int64_t i = 0; i < length(index); ++i) sample.ids.push_back((index * 7 + i * 3) % 20);
        sample.labels.push_back(index % 2);
        return sample;
    }
};

std::vector<std::string> overrides(const std::vector<std::string>& more, const std::string& backend) {
    std::vector<std::string> all{"model.type=bert",
                                 "task.kind=classification",
                                 "task.labels=[\"a\",\"b\"]",
                                 "model.layers=2",
                                 "model.hidden_size=8",
                                 "model.heads=2",
                                 "model.intermediate_size=16",
                                 "model.vocab_size=20",
                                 "model.max_positions=8",
                                 "model.dropout=0",
                                 "model.attention_dropout=0",
                                 "batch.max_length=8",
                                 "batch.size=4",
                                 "train.steps=12",
                                 "train.schedule=constant",
                                 "train.warmup_ratio=0",
                                 "train.grad_accumulation_steps=2",
                                 "optimizer.lr=0.01",
                                 "optimizer.backend=torch",
                                 "data_loader.backend=torch",
                                 "data_loader.shuffle=false",
                                 "precision.backend=torch/fp32",
                                 "runtime.auto=priority"};
    for (const std::string slot : {"attention", "normalization", "activation", "loss", "linear"})
        all.push_back(slot + ".backend=" + backend);
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

struct GraphJob {
    explicit GraphJob(const std::vector<std::string>& more, GraphMaker* maker = nullptr,
                      const std::string& backend = "torch")
        : made(overrides(more, backend), texts),
          session(made.session),
          trainer({session.config(), session.plan(), session.model(), session.parameters(),
                   session.optimizer(), session.train_loader(), nullptr, "", maker}) {}

    GraphTexts texts;
    test::ShortTraining made;
    train::Session& session;
    train::Trainer trainer;  // as the session makes it, but that the graphs are the test's
};

// The largest difference between the parameters of two jobs.
double distance(GraphJob& a, GraphJob& b) {
    double largest = 0.0;
    for (std::size_t i = 0; i < a.session.parameters().all().size(); ++i) {
        const auto& x = a.session.parameters().all()[i].value;
        const auto& y = b.session.parameters().all()[i].value;
        largest = std::max(largest, x.sub(y).abs().max().item<double>());
    }
    return largest;
}

}  // namespace

TEST_CASE("training through graphs is training without, to the bit where nothing is divided or scaled") {
    for (const std::vector<std::string>& more : {std::vector<std::string>{},
                                                 {"optimizer.max_grad_norm=0"},
                                                 {"optimizer.algorithm=sgd"},
                                                 {"optimizer.max_grad_norm=0.1"}}) {
        INFO((more.empty() ? "" : more[0]));
        test::KeepingMaker maker;
        GraphJob plain(more), graphed(more, &maker);
        const auto expected = plain.trainer.run({}), got = graphed.trainer.run({});
        REQUIRE(got.steps.size() == expected.steps.size());
        for (std::size_t i = 0; i < got.steps.size(); ++i) {
            CHECK(got.steps[i].loss == test::Approx(expected.steps[i].loss).epsilon(1e-6));
            CHECK(got.steps[i].grad_norm == test::Approx(expected.steps[i].grad_norm).epsilon(1e-6));
        }
        CHECK(distance(plain, graphed) == 0.0);
        CHECK(got.graphs.replays >= 6);
        CHECK(got.graphs.captures >= 1);
        CHECK(got.graphs.replays + got.graphs.uncaptured == 12);
        CHECK_FALSE(expected.graphs.any());
    }
}

TEST_CASE("a schedule reaches captured steps through a tensor") {
    const std::vector<std::string> more{"train.schedule=cosine", "train.warmup_ratio=0.2", "batch.size=3"};
    test::KeepingMaker maker;
    GraphJob plain(more), graphed(more, &maker);
    plain.trainer.run({});
    graphed.trainer.run({});
    CHECK(distance(plain, graphed) < 1e-5);
}

TEST_CASE("a checkpoint that is loaded after a capture is gone on from") {
    test::KeepingMaker maker;
    GraphJob plain({}), graphed({}, &maker);
    const auto begin = [](GraphJob& job) {
        std::vector<Batch> batches(2);
        for (int step = 0; step < 4; ++step) {
            for (auto& batch : batches) REQUIRE(job.session.train_loader().next(batch));
            job.trainer.step(batches);
        }
    };
    for (GraphJob* job : {&plain, &graphed}) {
        begin(*job);
        job->trainer.restore(job->trainer.state());
        job->trainer.run({});
    }
    CHECK(distance(plain, graphed) == 0.0);
}

TEST_CASE("a replayed step raises the versions of parameters, as a step that runs does") {
    test::KeepingMaker maker;
    GraphJob job({}, &maker);
    for (const auto& parameter : job.session.parameters().all()) maker.written.push_back(parameter.value);
    std::vector<Batch> batches(2);
    for (int step = 0; step < 8; ++step) {
        for (auto& batch : batches) {
            while (!job.session.train_loader().next(batch)) continue;  // the end of an epoch
        }
        std::vector<std::int64_t> before;
        for (const auto& value : maker.written) before.push_back(value._version());
        job.trainer.step(batches);
        for (std::size_t i = 0; i < before.size(); ++i) {
            INFO(job.session.parameters().all()[i].name << ", step " << step);
            CHECK(maker.written[i]._version() > before[i]);
        }
    }
}

TEST_CASE("a step that somebody looks at runs as it is, and those after it are captured anew") {
    struct Looks final : runtime::CallObserver {
        void observe(const runtime::ObservedCall&) override { ++calls; }
        int calls = 0;
    };
    test::KeepingMaker maker;
    GraphJob plain({}), graphed({}, &maker);
    Looks looks;
    for (GraphJob* job : {&plain, &graphed}) {
        std::vector<Batch> batches(2);
        for (int step = 0; step < 8; ++step) {
            for (auto& batch : batches) {
                while (!job->session.train_loader().next(batch)) continue;  // the end of an epoch
            }
            std::optional<runtime::ObserveCalls> looking;
            if (step == 3) looking.emplace(looks);
            job->trainer.step(batches);
        }
    }
    CHECK(looks.calls > 0);
    CHECK(distance(plain, graphed) == 0.0);
}

TEST_CASE("a gradient that is not finite is seen after a captured step, whether it clips or not") {
    for (const char* norm : {"optimizer.max_grad_norm=1", "optimizer.max_grad_norm=0"}) {
        INFO(norm);
        test::KeepingMaker maker;
        GraphJob job({norm}, &maker);
        int tries = 0;
        job.session.parameters().all()[3].value.register_hook([&](const at::Tensor& gradient) {
            return ++tries <= 12 ? gradient : gradient.mul(std::numeric_limits<float>::infinity());
        });
        const auto result = job.trainer.run({});
        CHECK(result.outcome == train::Outcome::failed);
        CHECK(result.numerics);
        CHECK(result.graphs.replays > 0);
        CHECK(result.steps.size() == 7);
        CHECK_THAT(result.error, test::contains("not finite"));
    }
}

TEST_CASE("skip: a captured step that clips changes nothing, and the next ones go on") {
    test::KeepingMaker maker;
    GraphJob job({"optimizer.max_grad_norm=1", "train.nonfinite=skip"}, &maker);
    int tries = 0;
    job.session.parameters().all()[3].value.register_hook([&](const at::Tensor& gradient) {
        return ++tries == 13 ? gradient.mul(std::numeric_limits<float>::infinity()) : gradient;
    });
    const auto result = job.trainer.run({});
    CHECK(result.outcome == train::Outcome::finished);
    CHECK(result.progression.step == 12);
    CHECK(result.progression.skipped_steps == 1);
    for (const auto& parameter : job.session.parameters().all())
        CHECK(parameter.value.isfinite().all().item<bool>());
}

TEST_CASE("components that do not say that they can be captured are named, with the reason that they give") {
    GraphJob naive({}, nullptr, "naive");
    const auto refused = train::capture_refusals(naive.session.plan(), naive.session.optimizer());
    REQUIRE(refused.size() >= 4);
    CHECK(refused[0].find("train.cuda_graph: ") == 0);
    const std::string all = [&] {
        std::string text;
        for (const auto& line : refused) text += line + "\n";
        return text;
    }();
    CHECK_THAT(
        all,
        test::contains(
            "attention (plugin 'naive', component 'naive'): it does not say that its calls can be captured; "
            "choose another backend, or train.cuda_graph = false"));
    CHECK(all.find("optimizer") == std::string::npos);

    GraphJob lengths({});
    const auto masked = train::capture_refusals(lengths.session.plan(), lengths.session.optimizer());
    REQUIRE(masked.size() == 1);
    CHECK_THAT(
        masked[0],
        test::contains("a mask other than causal is looked through for rows without keys, on the host"));

    GraphJob full({"batch.min_length=8"});
    CHECK(train::capture_refusals(full.session.plan(), full.session.optimizer()).empty());
    GraphJob foreach ({"batch.min_length=8", "optimizer.algorithm=lion"});
    const auto host = train::capture_refusals(foreach.session.plan(), foreach.session.optimizer());
    REQUIRE(host.size() == 1);
    CHECK_THAT(host[0], test::contains("the foreach kernels read the step count on the host"));
}
