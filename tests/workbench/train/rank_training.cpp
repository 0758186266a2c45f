#include "rank_training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <stdexcept>

#include <ATen/ops/cat.h>

#include "core/workbench/model/parameter_storage.h"
#include "core/workbench/train/optimizer_parts.h"
#include "core/workbench/train/parameter_groups.h"
#include "core/workbench/train/step_parts.h"
#include "some_ranks.h"

#include <switchyard_test.h>

namespace switchyard::test {

const Sets as_llama{"model.positions=rotary",    "model.heads=4",       "model.kv_heads=2",
                    "model.activation=swiglu",   "model.norm=rms_norm", "model.bias=false",
                    "model.tie_embeddings=false"};

Sample OneLarge::get(std::int64_t index, std::int64_t) const {
    Sample sample;
    sample.ids = {1, 2 + index, 3, 4};
    sample.float_labels = {index == 0 ? 3000.0F : 0.5F};
    return sample;
}

RaggedTexts texts_for(const std::string& task) { return RaggedTexts(*parse<config::TaskKind>(task)); }

Sets sets_of(const Case& one, std::int64_t batch, std::int64_t accumulated) {
    Sets all{"model.type=" + one.type,
             "task.kind=" + one.task,
             "model.layers=2",
             "model.hidden_size=16",
             "model.heads=2",
             "model.intermediate_size=32",
             "model.vocab_size=50",
             "model.max_positions=29",
             "model.dropout=0.1",
             "model.attention_dropout=0.1",
             "batch.max_length=29",
             "batch.size=" + std::to_string(batch),
             "train.grad_accumulation_steps=" + std::to_string(accumulated),
             "train.epochs=2",
             "optimizer.lr=0.003",
             "precision.backend=torch/fp32",
             "attention.backend=naive",  // these three drop by logical position
             "normalization.backend=naive",
             "activation.backend=naive",
             "linear.backend=torch",
             "data_loader.backend=torch"};
    for (const std::string slot : {"loss", "optimizer"}) all.push_back(slot + ".backend=torch");
    if (one.task == "classification") all.emplace_back("task.labels=[\"a\",\"b\",\"c\"]");
    all.insert(all.end(), one.more.begin(), one.more.end());
    return all;
}

Sets rank_sets_of(const Case& one, std::int64_t batch, std::int64_t accumulated) {
    auto sets = sets_of(one, batch, accumulated);
    sets.push_back("distributed.mesh.tensor=" + std::to_string(one.tensor));
    sets.push_back("distributed.mesh.pipeline=" + std::to_string(one.pipeline));
    if (one.sequence) sets.emplace_back("distributed.sequence_parallel=true");
    return sets;
}

at::Tensor values_of(const model::Parameters& parameters) {
    std::vector<at::Tensor> values;
    for (const auto& parameter : parameters.all())
        values.push_back(parameter.value.detach().reshape({-1}).to(at::kDouble));
    return at::cat(values);
}

namespace {

std::map<std::string, at::Tensor> next_gradients(ShortTraining& job) {
    const auto& precision = job.session.plan().precision();
    auto batches = job.trainer.next_group();
    precision.begin_step();
    job.trainer.accumulate(batches);
    auto gradients = job.trainer.unscaled_gradients();
    precision.end_step();
    std::vector<std::string> names;
    if (const auto* const parts = job.session.model_parts()) {
        gradients = parts->whole(gradients);
        for (const auto& parameter : parts->all()) names.push_back(parameter.name);
    } else {
        for (const auto& parameter : job.session.parameters().all()) names.push_back(parameter.name);
    }
    std::map<std::string, at::Tensor> by_name;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (gradients[i].defined()) by_name[names[i]] = gradients[i];
    return by_name;
}

Trained trained_with(const Sets& sets, const std::string& task, distributed::Group* group) {
    const auto texts = texts_for(task);
    ShortTraining job(sets, texts, group);
    Trained trained;
    train::TrainerHooks hooks;
    hooks.on_step = [&](const train::StepReport&) -> std::string {
        std::int64_t held = 0;
        for (const auto& parameter : job.session.parameters().all())
            held += model::held_bytes(parameter.value);
        trained.held_bytes = std::max(trained.held_bytes, held);
        return "";
    };
    const auto result = job.trainer.run(hooks);
    if (!result.error.empty()) throw std::runtime_error(result.error);
    for (const auto& step : result.steps) {
        trained.losses.push_back(step.loss);
        trained.samples.push_back(step.samples);
        trained.skipped.push_back(step.skipped);
    }
    trained.parameters = values_of(result.whole ? *result.whole : job.session.parameters());
    trained.learning_rate = job.trainer.learning_rate();
    const auto kept = job.trainer.kept();
    trained.kept_bytes = kept ? kept->parameters + kept->gradients : 2 * job.session.parameters().bytes();
    const auto state = job.trainer.state();
    for (const auto& entry : state.optimizer.entries)
        trained.state_bytes += static_cast<std::int64_t>(entry.value.nbytes());
    for (const auto& [name, master] : state.masters)
        trained.state_bytes += static_cast<std::int64_t>(master.nbytes());
    trained.gradients = next_gradients(job);
    return trained;
}

// What one process learns of a job, which many cases are held against: each is trained once.
Trained trained_alone(const Sets& sets, const std::string& task) {
    static std::mutex mutex;
    static std::map<Sets, Trained> known;  // the task is among the sets
    const std::lock_guard lock(mutex);
    const auto found = known.find(sets);
    if (found != known.end()) return found->second;
    return known.emplace(sets, trained_with(sets, task, nullptr)).first->second;
}

}  // namespace

Trained trained_by(const Case& one, std::int64_t batch, std::int64_t accumulated, distributed::Group* group) {
    if (group == nullptr) return trained_alone(sets_of(one, batch, accumulated), one.task);
    return trained_with(rank_sets_of(one, batch, accumulated), one.task, group);
}

std::vector<Trained> train_on_ranks(const Case& one, std::int64_t batch, std::int64_t accumulated) {
    std::vector<Trained> all(static_cast<std::size_t>(one.ranks));
    std::mutex mutex;
    as_ranks(one.ranks, [&](distributed::Group& group) {
        auto trained = trained_by(one, batch, accumulated, &group);
        const std::lock_guard lock(mutex);
        all[static_cast<std::size_t>(group.rank())] = std::move(trained);
    });
    return all;
}

Case with(Case one, const Sets& more) {
    one.more.insert(one.more.end(), more.begin(), more.end());
    return one;
}

// Relative to the mean size of values.
double distance(const at::Tensor& a, const at::Tensor& b) {
    return a.sub(b).norm().item<double>() / b.norm().item<double>();
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
    double most = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]) / std::abs(b[i]));
    return most;
}

Farthest farthest(const Trained& a, const Trained& b) {
    double largest = 0.0;
    for (const auto& [name, gradient] : b.gradients)
        largest = std::max(largest, gradient.norm().item<double>());
    Farthest found;
    for (const auto& [name, gradient] : b.gradients) {
        const auto size = gradient.norm().item<double>() + 0.01 * largest;
        const auto apart = a.gradients.at(name).sub(gradient).norm().item<double>() / size;
        if (apart > found.distance || !std::isfinite(apart)) found = {name, apart};
        if (!std::isfinite(apart)) break;
    }
    return found;
}

namespace {

void check_equal(const Case& one) {
    constexpr std::int64_t batch = 2, accumulated = 2;
    const auto ranks = train_on_ranks(one, batch, accumulated);
    const auto data = one.ranks / (one.tensor * one.pipeline), all = batch * data;
    const auto alone = trained_by(one, all, accumulated);
    const auto pieces = std::max<std::int64_t>(2, data);
    const auto parts = trained_by(one, all / pieces, accumulated * pieces);
    REQUIRE(alone.losses.size() == parts.losses.size());
    const auto allowed = 4.0 * distance(parts.parameters, alone.parameters) + rounding;
    const auto allowed_loss = 4.0 * distance(parts.losses, alone.losses) + rounding;
    const auto allowed_gradient = 4.0 * farthest(parts, alone).distance + 1e-5;
    for (const auto& rank : ranks) {
        REQUIRE(rank.losses.size() == alone.losses.size());
        CHECK(distance(rank.parameters, alone.parameters) <= allowed);
        CHECK(distance(rank.losses, alone.losses) <= allowed_loss);
        REQUIRE(rank.gradients.size() == alone.gradients.size());
        const auto off = farthest(rank, alone);
        INFO("the gradient of " << off.parameter << " is farthest off");
        CHECK(off.distance <= allowed_gradient);
        CHECK(rank.samples == alone.samples);
        CHECK(rank.parameters.equal(ranks[0].parameters));
        CHECK(rank.losses == ranks[0].losses);
    }
}

}  // namespace

void check_all(const std::vector<Case>& cases) {
    for (const auto& one : cases) {
        std::string told = one.type + ", " + one.task + ", " + std::to_string(one.ranks) + " ranks, tensor " +
                           std::to_string(one.tensor) + ", pipeline " + std::to_string(one.pipeline);
        for (const auto& set : one.more) told += ", " + set;
        INFO(told);
        check_equal(one);
    }
}

void check_not_finite_on_one(const std::string& mesh, const std::string& parameter) {
    const auto texts = texts_for("causal_lm");
    auto sets = sets_of({"gpt", "causal_lm"}, 2, 1);
    sets.push_back(mesh);
    as_ranks(2, [&](distributed::Group& group) {
        ShortTraining job(sets, texts, &group);
        auto batches = job.trainer.next_group();
        job.trainer.accumulate(batches);
        auto groups = train::optimizer_groups(job.config, job.session.parameters());
        train::collect_gradients(groups);
        if (group.rank() == 1)
            job.session.parameters().find(parameter)->value.grad().select(0, 0).select(0, 0).fill_(INFINITY);
        const auto before = values_of(job.session.parameters());
        train::OptimizerParts parts(*job.session.model_parts(), job.config, job.session.optimizer(), groups);
        StepParams clipped;
        clipped.max_grad_norm = 1.0;
        const auto result = parts.step(groups, clipped);
        const bool unchanged = values_of(job.session.parameters()).equal(before);
        const auto text = parts.nonfinite(groups);
        if (group.rank() != 0) return;
        CHECK(result.found_inf.item<float>() == 1.0F);
        CHECK(unchanged);
        CHECK(text == "the gradient of " + parameter + " (1 of 256 values) is not finite");
    });
}

}  // namespace switchyard::test
