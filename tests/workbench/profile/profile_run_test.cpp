// Steps of a real job, observed: what the slots compute against the formulas of step_flops.h, memory against
// the sizes of parameters and the allocator's own counter.
#include "core/workbench/profile/profile_run.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/kernel/machine/cpu_allocator.h"
#include "core/workbench/compare/arms/random_samples.h"

#include "short_training.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using profile::MemoryClass;

namespace {

// Texts of one length, so that there is no padding, whose places are computed and not counted.
std::vector<std::string> job(const std::string& backend, std::vector<std::string> more = {}) {
    std::vector<std::string> all{"model.type=bert",
                                 "model.layers=2",
                                 "model.hidden_size=128",
                                 "model.heads=4",
                                 "model.intermediate_size=512",
                                 "model.vocab_size=500",
                                 "model.max_positions=64",
                                 "task.kind=classification",
                                 "task.labels=[\"a\", \"b\"]",
                                 "batch.max_length=64",
                                 "batch.size=8",
                                 "data_loader.backend=torch",
                                 "precision.backend=amp/fp32",
                                 "optimizer.backend=torch",
                                 "optimizer.algorithm=adamw",
                                 "run.phases=[\"train\", \"eval\"]"};
    for (const char* slot : {"attention", "normalization", "activation", "linear", "loss"})
        all.push_back(slot + (".backend=" + backend));
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

struct Profiled {
    explicit Profiled(const std::vector<std::string>& overrides, const profile::Schedule& schedule = {0, 1, 2, 1})
        : samples(compare::random_samples(configured(overrides), 64, std::nullopt, 1)),
          training(overrides, samples),
          run(profile::run_profile(training.session, training.trainer, schedule, {})),
          profile(profile::summarize(run, schedule)) {}

    const profile::Line& slot(const std::string& name) const {
        return *std::ranges::find(profile.slots, name, &profile::Line::name);
    }

    data::SampleList samples;
    ShortTraining training;
    profile::ProfileRun run;
    profile::Profile profile;
};

const bool counted = [] {
    machine::install_cpu_allocator(config::Allocator::caching);
    return true;
}();

std::int64_t most_of(const profile::Profile& profile, MemoryClass is) {
    std::int64_t most = 0;
    for (const auto& point : profile.memory.line)
        most = std::max(most, point.parts[static_cast<std::size_t>(is)]);
    return most;
}

std::int64_t at_peak(const profile::Profile& profile, MemoryClass is) {
    return profile.memory.peak.parts[static_cast<std::size_t>(is)];
}

}  // namespace

TEST_CASE("linear layers and attention compute what the model's formulas say, whoever serves them") {
    const auto backend = GENERATE("torch", "naive");
    INFO(backend);
    const Profiled profiled(job(backend));
    REQUIRE(profiled.run.nonfinite.empty());
    CHECK(profiled.profile.model_flops > 0.0);
    const double computed = profiled.slot("linear").cost.flops + profiled.slot("attention").cost.flops;
    CHECK(computed == Approx(profiled.profile.model_flops).epsilon(1e-9));
}

TEST_CASE("components with kernels of their own are followed back, and layers that run again count") {
    const Profiled plain(job("torch", {"attention.backend=flash", "normalization.backend=fused",
                                       "activation.backend=fused", "loss.backend=fused",
                                       "linear.backend=[\"gemm\", \"torch\"]"}));
    const double computed = plain.slot("linear").cost.flops + plain.slot("attention").cost.flops;
    CHECK(computed == Approx(plain.profile.model_flops).epsilon(1e-9));
    CHECK(plain.slot("attention").calls == 2);
    CHECK(plain.slot("attention").backward_calls == 2);
    CHECK(plain.slot("attention").backward_ms > 0.0);
    CHECK(plain.slot("attention").again_ms == 0.0);
    CHECK(plain.slot("normalization").backward_calls == plain.slot("normalization").calls);

    const Profiled again(job("torch", {"train.recompute=layers"}));
    CHECK(again.slot("attention").again_ms > 0.0);
    CHECK(again.slot("attention").calls == 4);
    CHECK(again.slot("attention").backward_calls == 2);
}

TEST_CASE("the slots of a step and what is between them add up to it") {
    const Profiled profiled(job("torch"));
    const auto& profile = profiled.profile;
    CHECK(profile.steps == 2);
    CHECK(profiled.run.pairs.size() == 2);
    double in_slots = 0.0, between = 0.0;
    for (const auto& line : profile.slots) in_slots += line.ms;
    for (const auto& [pass, ms] : profile.between) between += ms;
    CHECK(in_slots + between == Approx(profile.step_ms));
    // How large a share depends on the machine and its load: docs/profile.md has what was measured.
    CHECK(profile.least_explained <= profile.explained);
    CHECK(profile.explained < 1.0);
    std::set<std::string> layers;
    for (const auto& line : profile.layers) layers.insert(line.name);
    for (const char* layer : {"embeddings", "encoder.0", "encoder.1", "loss", "pooler", "classifier"})
        CHECK(layers.contains(layer));
    CHECK(profile.padding == 0.0);
    CHECK(profile.samples == 8);
    CHECK(profile.tokens == 8 * 64);
}

TEST_CASE("memory is that of the parameters, of two moments each and of the gradients, and all is counted") {
    const Profiled profiled(job("torch"));
    const auto parameters = profiled.training.session.parameters().bytes();
    const auto& profile = profiled.profile;
    CHECK(at_peak(profile, MemoryClass::parameters) == parameters);
    CHECK(at_peak(profile, MemoryClass::masters) == 0);
    const auto state = at_peak(profile, MemoryClass::optimizer_state);
    CHECK(state >= 2 * parameters);
    const auto tensors = static_cast<std::int64_t>(profiled.training.session.parameters().all().size());
    CHECK(state <= 2 * parameters + 8 * tensors);  // with a count of steps each
    CHECK(most_of(profile, MemoryClass::gradients) == parameters);
    CHECK(most_of(profile, MemoryClass::activations) > 0);
    CHECK(most_of(profile, MemoryClass::batches) > 0);
    CHECK(profile.memory.peak.total() == machine::cpu_memory_stats().peak_bytes);
    for (const auto& point : profile.memory.line) {
        for (std::size_t i = 0; i < profile::memory_classes; ++i) CHECK(point.parts[i] >= 0);
    }
    std::set<std::string> layers;
    for (const auto& [layer, bytes] : profile.memory.layers) layers.insert(layer);
    CHECK(layers.contains("encoder.0"));
    CHECK(layers.contains("encoder.1"));
}

TEST_CASE("masters and casts of weights have their own places") {
    const Profiled profiled(job("torch", {"precision.backend=amp/bf16_pure"}));
    const auto parameters = profiled.training.session.parameters().bytes();
    CHECK(at_peak(profiled.profile, MemoryClass::masters) == 2 * parameters);

    const Profiled cast(job("torch", {"precision.backend=amp/bf16"}));
    CHECK(most_of(cast.profile, MemoryClass::weight_forms) > 0);
}

TEST_CASE("what is not finite ends it, and so does whoever asks to stop") {
    const Profiled profiled(job("torch", {"optimizer.lr=1e30", "train.schedule=constant", "train.warmup_ratio=0"}),
                            {0, 1, 8, 1});
    CHECK_FALSE(profiled.run.nonfinite.empty());

    const auto overrides = job("torch");
    const auto samples = compare::random_samples(configured(overrides), 64, std::nullopt, 1);
    ShortTraining training(overrides, samples);
    int asked = 0;
    const auto run = profile::run_profile(training.session, training.trainer, {0, 1, 5, 1},
                                          {{}, [&] { return ++asked > 3; }});
    CHECK(run.stopped);
    CHECK(run.steps.size() == 1);
}
