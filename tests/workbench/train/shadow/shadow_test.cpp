// Candidates beside the components of a training that is one process: what they find, and that training does
// not know of them. To add a case: overrides of the job.
#include <cmath>
#include <map>
#include <memory>
#include <tuple>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/softmax.h>

#include "core/kernel/config/load.h"
#include "core/kernel/loader/discovery.h"
#include "core/kernel/runtime/backward_from.h"
#include "core/kernel/runtime/call_observer.h"
#include "core/workbench/model/planning.h"
#include "core/workbench/train/session.h"
#include "core/workbench/train/shadow/shadow.h"

#include <switchyard_test.h>

using namespace switchyard;
using Words = std::vector<std::string>;

namespace {

class TokenTexts final : public SampleSource {
public:
    std::int64_t size() const override { return 12; }
    std::int64_t length(std::int64_t) const override { return 6; }
    Sample get(std::int64_t index, std::int64_t) const override {
        Sample sample;
        for (std::int64_t i = 0; i < 6; ++i) {
            sample.ids.push_back((index * 7 + i * 3) % 20);
            sample.labels.push_back((index + i) % 20);
        }
        return sample;
    }
};

const auto texts = std::make_shared<TokenTexts>();

const HostInfo& this_host() {
    static const HostInfo info = [] {
        HostInfo made;
        made.cores = 1;
        return made;
    }();
    return info;
}

runtime::Registry& registry() {
    static runtime::Registry found([] {
        at::set_num_threads(1);
        loader::DiscoveryOptions options;
        options.run_probes = false;
        options.path.entries.clear();
        for (const std::string name : {"chunked", "fused", "flash", "naive", "torch"})
            options.path.entries.push_back(
                {(test::build_dir() / "lib/switchyard/plugins" / ("lib" + name + ".so")).string(), "test",
                 true});
        for (const std::string file : {"errs/libtest_errs.so", "bad/libtest_throws.so"})
            options.path.entries.push_back(
                {(test::build_dir() / "tests/support/plugins" / file).string(), "test", true});
        return loader::discover(options, this_host());
    }());
    return found;
}

Words with(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

Words shadowed(const std::string& backend) {
    Words words;
    for (const std::string slot : {"attention", "normalization", "activation", "linear", "loss"}) {
        words.push_back(slot + ".shadow.backend=" + backend);
        words.push_back(slot + ".shadow.every=1");
    }
    return words;
}

// With backward of their own, and dropout that is counted.
const Words shadowed_by_kernels{"attention.shadow.backend=flash",     "attention.shadow.every=1",
                                "normalization.shadow.backend=fused", "normalization.shadow.every=1",
                                "activation.shadow.backend=fused",    "activation.shadow.every=1",
                                "loss.shadow.backend=[fused,naive]",  "loss.shadow.every=1"};

const Words small_gpt{"model.type=gpt",
                      "model.layers=2",
                      "model.hidden_size=16",
                      "model.heads=2",
                      "model.intermediate_size=32",
                      "model.vocab_size=20",
                      "model.max_positions=8",
                      "task.kind=causal_lm",
                      "batch.max_length=8",
                      "batch.size=2",
                      "train.steps=4",
                      "train.schedule=constant",
                      "train.warmup_ratio=0",
                      "optimizer.lr=0.02",
                      "precision.backend=torch/fp32",
                      "optimizer.backend=torch",
                      "data_loader.backend=torch",
                      "runtime.auto=priority"};
const Words without_dropout{"model.dropout=0", "model.attention_dropout=0"};
const Words with_dropout{"model.dropout=0.2", "model.attention_dropout=0.2"};

Words trusted(const std::string& backend) {
    Words words;
    for (const std::string slot : {"attention", "normalization", "activation", "linear", "loss"})
        words.push_back(slot + ".backend=" + backend);
    return words;
}

config::Config configured(const Words& overrides) {
    config::LoadRequest request;
    request.overrides = overrides;
    const auto result = config::load(request);
    if (!result.config) throw std::runtime_error(config::render(result.problems));
    return *result.config;
}

struct Job {
    explicit Job(const Words& more)
        : config(configured(with(small_gpt, more))),
          plan(model::make_plan(config, registry(), this_host())),
          session(config, plan, registry(), this_host()),
          trainer(session.make_trainer(texts)) {
        if (plan.shadows.empty()) return;
        shadow.emplace(plan, session.plan(), registry(), this_host(), Device::cpu);
        trainer.set_shadow(&*shadow);
    }

    train::TrainingResult run() {
        auto result = trainer.run({});
        for (const auto& step : result.steps) add_lines(lines, step.shadow);
        return result;
    }

    // Losses, parameters, and where the generator stands.
    std::vector<at::Tensor> end() {
        std::vector<at::Tensor> all;
        for (const auto& step : run().steps) all.push_back(at::scalar_tensor(step.loss, at::kDouble));
        for (const auto& parameter : session.parameters().all())
            all.push_back(parameter.value.detach().clone());
        all.push_back(at::detail::getDefaultCPUGenerator().get_state().clone());
        return all;
    }

    std::int64_t calls_of(const std::string& slot) const {
        std::int64_t calls = 0;
        for (const auto& line : lines)
            if (line.slot.substr(0, line.slot.find('.')) == slot) calls += line.calls;
        return calls;
    }

    config::Config config;
    resolver::Plan plan;
    train::Session session;
    train::Trainer trainer;
    std::optional<train::Shadow> shadow;
    train::ShadowLines lines;
};

bool same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!a[i].equal(b[i])) return false;
    return a.size() == b.size();
}

}  // namespace

TEST_CASE("training with a shadow is the same bits as without") {
    // With dropout, which torch's components draw from LibTorch's generator and others count.
    const Words kernels{"attention.backend=flash", "normalization.backend=fused", "activation.backend=fused",
                        "linear.backend=torch", "loss.backend=fused"};
    for (const auto& [backend, trains, candidates] :
         {std::tuple("torch", trusted("torch"), shadowed("naive")),
          std::tuple("naive", trusted("naive"), shadowed("torch")),
          std::tuple("kernels", kernels, shadowed("naive"))}) {
        for (const Words& how : std::vector<Words>{{},
                                                   {"train.grad_accumulation_steps=2"},
                                                   {"train.recompute=layers"},
                                                   {"train.recompute=attention"},
                                                   {"batch.layout=packed"}}) {
            INFO(backend << " " << (how.empty() ? "" : how.front()));
            const auto base = with(with(with_dropout, trains), how);
            const auto expected = Job(base).end();
            Job job(with(base, candidates));
            CHECK(same(job.end(), expected));
            CHECK(job.calls_of("attention") > 0);
            CHECK(job.calls_of("loss") > 0);
            for (const auto& line : job.lines) CHECK(line.faults.first == "");
        }
    }
}

TEST_CASE("every call of a step is made twice once, recomputed or not, and in each micro-batch") {
    for (const std::string recompute : {"none", "layers", "attention"}) {
        INFO(recompute);
        Job job(with(with(without_dropout, trusted("torch")),
                     with(shadowed("naive"), {"train.recompute=" + recompute,
                                              "train.grad_accumulation_steps=2", "train.steps=2"})));
        job.run();
        CHECK(job.calls_of("attention") == 2 * 2 * 2);  // layers, micro-batches, steps
        CHECK(job.calls_of("activation") == 2 * 2 * 2);
        CHECK(job.calls_of("loss") == 2 * 2);
        CHECK(job.calls_of("normalization") == 2 * 2 * 5);
        for (const auto& line : job.lines) {
            CHECK(line.steps == 2);
            CHECK(line.outputs.means.size() == static_cast<std::size_t>(line.calls));
            CHECK(line.gradients.means.size() == static_cast<std::size_t>(line.calls));
            CHECK(line.trusted_ms.size() == static_cast<std::size_t>(line.calls));
        }
    }
}

TEST_CASE("components that compute the same are apart by rounding") {
    for (const Words& candidates : {shadowed("naive"), shadowed_by_kernels}) {
        Job job(with(with(without_dropout, trusted("torch")), candidates));
        job.run();
        REQUIRE_FALSE(job.lines.empty());
        for (const auto& line : job.lines) {
            INFO(line.slot << " " << line.candidate);
            CHECK(line.faults.calls == 0);
            CHECK_FALSE(line.without_dropout);
            CHECK(line.outputs.largest < 2e-5);
            CHECK(line.gradients.largest < 1e-4);
        }
    }
}

// The mask, the incoming gradients, the parameters: whatever was not the same would show.
TEST_CASE("a component is not apart from itself, dropout included") {
    Job job(with(with(with_dropout, trusted("naive")), shadowed("naive")));
    job.run();
    for (const auto& line : job.lines) {
        INFO(line.slot);
        CHECK_FALSE(line.without_dropout);
        CHECK(line.faults.first == "");
        CHECK(line.outputs.largest == 0.0);
        CHECK(line.gradients.largest == 0.0);
    }
    Job counted(with(with(with_dropout, trusted("naive")), shadowed_by_kernels));
    counted.run();
    for (const auto& line : counted.lines) {
        INFO(line.slot << " " << line.candidate);
        CHECK_FALSE(line.without_dropout);
        CHECK(line.outputs.largest < 2e-5);
        CHECK(line.gradients.largest < 1e-4);
    }
}

TEST_CASE("dropout that not both draw alike is left out of both calls, and said") {
    Job job(with(with(with_dropout, trusted("torch")), shadowed("naive")));
    job.run();
    std::map<std::string, bool> off;
    for (const auto& line : job.lines) {
        off[line.slot] = line.without_dropout;
        CHECK(line.outputs.largest < 2e-5);
    }
    CHECK(off.at("attention"));
    CHECK_FALSE(off.at("loss"));
}

TEST_CASE("a shadow has its turn in step 1 and every so many later") {
    Job job(with(with(without_dropout, trusted("torch")),
                 {"attention.shadow.backend=naive", "attention.shadow.every=3", "loss.shadow.backend=naive",
                  "loss.shadow.every=2", "train.steps=6"}));
    std::map<std::string, std::string> steps;
    for (const auto& step : job.run().steps)
        for (const auto& line : step.shadow) steps[line.slot] += " " + std::to_string(step.step);
    CHECK(steps.at("attention") == " 1 4");
    CHECK(steps.at("loss") == " 1 3 5");
}

namespace {

// The live calls of attention: what went in and came out, forward and backward.
class LiveAttention final : public runtime::CallObserver {
public:
    explicit LiveAttention(const runtime::BindingBase& binding) : binding_(binding) {}
    void observe(const runtime::ObservedCall& call) override {
        if (&call.binding != &binding_) return;
        auto& seen = (call.pass == runtime::Pass::forward ? forward : backward)[std::string(call.place)];
        for (const auto* const list : {&call.inputs, &call.outputs})
            for (const auto& tensor : *list) {
                const bool gradient = list == &call.outputs && call.pass == runtime::Pass::backward;
                seen[(gradient ? "d" : "") + std::string(tensor.name)] = tensor.value.clone();
            }
    }
    using Seen = std::map<std::string, at::Tensor>;
    std::map<std::string, Seen> forward, backward;  // by layer

private:
    const runtime::BindingBase& binding_;
};

double root_mean_square(const at::Tensor& x) {
    return std::sqrt(x.to(at::kDouble).square().mean().item<double>());
}

}  // namespace

// Against what LibTorch's own softmax gives for the queries, keys and gradients of the live calls.
TEST_CASE("the drift of a wrong candidate is what its formula is apart from the right one") {
    Job job(with(with(without_dropout, trusted("naive")),
                 {"attention.shadow.backend=test_errs/unmasked", "train.steps=1"}));
    const config::LayerId first{config::Stack::decoder, 0};
    LiveAttention live(job.session.plan().attention("attention", Phase::train, first).binding());
    {
        const runtime::ObserveCalls observing(live);
        job.run();
    }
    REQUIRE(live.forward.size() == 2);
    double worst_output = 0.0, worst_gradient = 0.0;
    std::vector<double> outputs, gradients;
    for (const auto& [place, seen] : live.forward) {
        const auto& back = live.backward.at(place);
        std::vector<at::Tensor> leaves;
        for (const auto* name : {"q", "k", "v"}) leaves.push_back(seen.at(name).detach().requires_grad_());
        const auto scores = at::matmul(leaves[0], leaves[1].transpose(-1, -2)) /
                            std::sqrt(static_cast<double>(leaves[0].size(-1)));
        const auto wrong = at::matmul(at::softmax(scores, -1), leaves[2]);
        const auto made = runtime::gradients_from({wrong}, {back.at("out")}, leaves, false);
        const auto relative = [](const at::Tensor& got, const at::Tensor& expected) {
            return std::pair(root_mean_square(got - expected) / root_mean_square(expected),
                             (got - expected).abs().max().item<double>() / root_mean_square(expected));
        };
        const auto [mean, largest] = relative(wrong.detach(), seen.at("out"));
        outputs.push_back(mean);
        worst_output = std::max(worst_output, largest);
        double of_call = 0.0;
        for (std::size_t i = 0; i < 3; ++i) {
            const auto expected = back.at(std::string("d") + std::array{"q", "k", "v"}[i]);
            const auto [grad_mean, grad_largest] = relative(made[i], expected);
            of_call = std::max(of_call, grad_mean);
            worst_gradient = std::max(worst_gradient, grad_largest);
        }
        gradients.push_back(of_call);
    }
    REQUIRE(job.lines.size() == 1);
    const auto& line = job.lines.front();
    CHECK(line.candidate == "test_errs/unmasked");
    CHECK(worst_output > 0.1);
    CHECK(line.outputs.largest == Approx(worst_output).epsilon(1e-4));
    CHECK(line.gradients.largest == Approx(worst_gradient).epsilon(1e-4));
    const auto sorted = [](std::vector<double> values) {
        std::sort(values.begin(), values.end());
        return values;
    };
    for (const auto& [got, expected] : {std::pair(sorted(line.outputs.means), sorted(outputs)),
                                        std::pair(sorted(line.gradients.means), sorted(gradients))}) {
        REQUIRE(got.size() == expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).epsilon(1e-4));
    }
    CHECK_THAT(line.outputs.layer, test::contains("decoder."));
    CHECK(line.outputs.tensor == "out");
}

TEST_CASE("a candidate that throws is counted, and training goes on as without it") {
    const auto base =
        with(with(with_dropout, trusted("torch")), {"model.activation=relu", "model.bias=false"});
    const auto expected = Job(base).end();
    for (const std::string component : {"in_forward", "in_backward", "wrong_shape"}) {
        INFO(component);
        Job job(with(base, {"activation.shadow.backend=test_throws/" + component,
                            "attention.shadow.backend=test_errs/throwing", "activation.shadow.every=1",
                            "attention.shadow.every=1"}));
        CHECK(same(job.end(), expected));
        REQUIRE(job.lines.size() == 2);
        for (const auto& line : job.lines) {
            CHECK(line.calls == 2 * 4);
            CHECK(line.faults.calls == line.calls);
            CHECK(line.faults.step == 1);
            CHECK(line.outputs.means.empty());
            CHECK(line.trusted_ms.empty());
        }
        CHECK_THAT(job.lines[0].faults.first, test::contains("the kernel is out of order"));
        CHECK_THAT(job.lines[1].faults.first,
                   test::contains(component == "wrong_shape" ? "invalid gradient" : "test_throws"));
    }
}

TEST_CASE("a candidate that cannot serve is an error of the plan, at its key") {
    const auto plan = [](const Words& more) {
        return model::make_plan(configured(with(with(small_gpt, trusted("torch")), more)), registry(),
                                this_host());
    };
    const auto unknown = plan({"attention.shadow.backend=nobody"});
    CHECK_FALSE(unknown.ok());
    REQUIRE_FALSE(unknown.shadows.empty());
    CHECK(unknown.shadows.front().use.key() == "attention.shadow.backend");
    CHECK_THAT(unknown.shadows.front().error, test::contains("nobody"));
    const auto unserved =
        plan({"attention.shadow.backend=test_errs/unmasked", "precision.backend=torch/bf16"});
    CHECK_FALSE(unserved.ok());
    CHECK_THAT(unserved.shadows.front().error, test::contains("float32"));
    for (const auto& row : unserved.rows) CHECK(row.chosen.has_value());
}
