#include "core/workbench/cli/compare/compare_messages.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/kernel/base/json_text.h"
#include "core/kernel/resolver/measured.h"
#include "core/workbench/compare/arms/first_step_file.h"
#include "core/workbench/compare/arms/shared_batches.h"
#include "core/workbench/compare/experiment/arm_keys.h"

namespace switchyard::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kept_steps = 64;   // of batches in a file, for a timed run
constexpr std::int64_t most_kept = 2000;  // for a run to the end

Json optimizer_json(const config::Config& config) {
    const auto& o = config.optimizer;
    return {{"algorithm", o.algorithm_name()},
            {"lr", o.lr},
            {"betas", o.betas},
            {"eps", o.eps},
            {"weight_decay", o.weight_decay},
            {"max_grad_norm", o.max_grad_norm}};
}

// `steps`: 0 where the configuration counts epochs, which external arms do not know: their learning rate is
// then constant.
Json schedule_json(const config::Config& config, std::int64_t steps) {
    const auto& t = config.train;
    return {{"kind", steps > 0 ? name(t.schedule) : name(config::ScheduleKind::constant)},
            {"steps", steps},
            {"warmup_ratio", t.warmup_ratio},
            {"warmup_steps", t.warmup_steps},
            {"final_factor", t.final_factor}};
}

// Of the training; 0: until the configuration's epochs end, or without end.
std::int64_t steps_of(const config::Config& config, std::int64_t loss_steps, int seed) {
    return seed < 0 ? config.train.steps : loss_steps;
}

}  // namespace

Json arm_model_json(const config::Config& config) {
    const auto& m = config.model;
    return {{"type", name(m.type)},
            {"layers", m.layers},
            {"hidden_size", m.hidden_size},
            {"heads", m.heads},
            {"intermediate_size", m.intermediate_size},
            {"vocab_size", m.vocab_size},
            {"max_positions", m.max_positions},
            {"dropout", m.dropout},
            {"attention_dropout", m.attention_dropout}};
}

Json arm_task_json(const config::Config& config) {
    return {{"kind", name(config.task.kind)},
            {"classes", config.task.classes(config.model.vocab_size)},
            {"ignore_index", config.loss.ignore_index},
            {"label_smoothing", config.loss.label_smoothing}};
}

Json arm_measured_json(const CheckedArms& arms) {
    Json list = Json::array();
    for (const auto& measurement : arms.measured)
        list.push_back(base::parse_json(resolver::measurement_text(measurement)).value);
    return list;
}

ArmMessages::ArmMessages(const CheckedArms& arms, MessageOptions options)
    : arms_(arms), options_(std::move(options)) {
    external_ =
        std::any_of(arms.arms.begin(), arms.arms.end(), [](const auto& arm) { return arm.external(); });
}

std::string ArmMessages::first_step_file(std::size_t arm) const {
    return options_.folder + "/first-" + std::to_string(arm) + ".safetensors";
}

std::string ArmMessages::shared_folder(int seed) const {
    return options_.folder + (seed < 0 ? "/shared" : "/shared-" + std::to_string(seed));
}

std::string ArmMessages::batches_folder(const compare::Preparation& what) const {
    const auto shared = shared_folder(what.seed);
    return arms_.arms[what.arm].own_batches ? shared + "-of-" + std::to_string(what.arm) : shared;
}

std::vector<compare::StepCounts> ArmMessages::written_steps(const compare::Preparation& what) const {
    const auto& arm = arms_.arms[what.arm];
    if (!external_ || options_.workload || (arm.own_batches && !arm.external())) return {};
    return compare::read_step_counts(batches_folder(what) + "/batches.safetensors");
}

// Where external arms load the batches from a file, all arms train on the batches of that file.
std::int64_t ArmMessages::cycle(const compare::Preparation& what) const {
    if (!external_ || is_over_samples(options_.operation)) return 0;
    return what.seed < 0 ? kept_steps : std::min(most_kept, options_.loss_steps);
}

Json ArmMessages::prepare(const compare::Preparation& what) const {
    const auto& arm = arms_.arms[what.arm];
    const auto& config = arms_.told_of(what.arm);
    const bool first = what.seed < 0 && what.round == 0;
    Json message{{"type", "prepare"},
                 {"protocol", compare::arm_protocol},
                 {"operation", name(options_.operation)},
                 {"name", arm.name},
                 {"seed", config.run.seed + std::max(0, what.seed)},
                 {"first_step_file", first ? first_step_file(what.arm) : ""}};
    if (options_.workload) {
        message["workloads"] = Json::array({to_json(*options_.workload)});
        message["cached"] = true;
    }
    if (arm.external()) {
        message["device"] = name(config.run.device);
        message["threads"] = config.runtime.threads;
        message["model"] = arm_model_json(config);
        message["task"] = arm_task_json(config);
        message["optimizer"] = optimizer_json(config);
        message["schedule"] = schedule_json(config, steps_of(config, options_.loss_steps, what.seed));
        message["weights"] = shared_folder(what.seed) + "/weights";
        message["batches"] = batches_folder(what) + "/batches.safetensors";
        const auto held_out = shared_folder(what.seed) + "/evaluation.safetensors";
        if (std::filesystem::exists(held_out)) message["evaluation_batches"] = held_out;
    }
    add_configuration(message, what);
    if (what.arm == arms_.reference_arm) {
        message["amplification"] = first;
        if (external_ && what.round == 0) {
            std::filesystem::create_directories(shared_folder(what.seed) + "/weights");
            message["export_folder"] = shared_folder(what.seed);
        }
    }
    return message;
}

// What an arm of this program goes by. An external one may be another build of it, in a folder of its own.
void ArmMessages::add_configuration(Json& message, const compare::Preparation& what) const {
    const auto& arm = arms_.arms[what.arm];
    const auto& config = arms_.config;
    const auto steps = steps_of(config, options_.loss_steps, what.seed);
    std::vector<std::string> overrides;
    // No arm knows how long a timed run is: a learning rate that follows the steps would fall to zero.
    if (what.seed < 0 && steps == 0 && (external_ || !config.data.given()))
        overrides = {"train.schedule=constant", "train.warmup_ratio=0", "train.warmup_steps=0"};
    for (const auto& implied : options_.job.implied) overrides.push_back(implied.text);
    overrides.insert(overrides.end(), options_.job.overrides.begin(), options_.job.overrides.end());
    const auto own = compare::without_arm_keys(arm.overrides);
    overrides.insert(overrides.end(), own.begin(), own.end());
    if (arm.ranks > 1) overrides.push_back("runtime.threads=" + std::to_string(arm.threads));
    if (what.seed >= 0) {
        overrides.push_back("run.seed=" + std::to_string(config.run.seed + what.seed));
        overrides.push_back("train.steps=" + std::to_string(steps));
    }
    message["config"] =
        arm.external() ? std::filesystem::absolute(options_.job.config).string() : options_.job.config;
    message["trust"] = options_.job.trust;
    message["locked"] = options_.job.locked;
    message["overrides"] = overrides;
    message["measured"] = arm_measured_json(arms_);
    message["ranks"] = arm.ranks;
    message["slowed"] = arm.slowed;
    message["cycle"] = cycle(what);
    message["samples"] = options_.samples;
    message["eval_samples"] = what.seed >= 0 ? options_.eval_samples : 0;
    message["lengths"] = options_.lengths;
}

std::optional<Json> ArmMessages::batch_writer(const compare::Preparation& what) const {
    const auto& arm = arms_.arms[what.arm];
    if (!arm.external() || !arm.own_batches || what.round > 0) return std::nullopt;
    // Of a later round: it is not to be compared, and writes nothing else.
    auto message = prepare({arms_.reference_arm, what.seed, 1});
    const auto &config = arms_.told_of(what.arm), &base = arms_.config;
    const auto set = [&](const std::string& key, std::int64_t value, std::int64_t of_base) {
        if (value != of_base) message["overrides"].push_back(key + "=" + std::to_string(value));
    };
    set("batch.size", config.batch.size, base.batch.size);
    set("batch.tokens", config.batch.tokens, base.batch.tokens);
    set("train.grad_accumulation_steps", config.train.grad_accumulation_steps,
        base.train.grad_accumulation_steps);
    message["eval_samples"] = 0;  // all have the reference arm's
    std::filesystem::create_directories(batches_folder(what));
    message["export_folder"] = batches_folder(what);
    message["export_weights"] = false;
    return message;
}

compare::Drift ArmMessages::drift(std::size_t arm, std::size_t base) const {
    return compare::drift_between(first_step_file(base), first_step_file(arm));
}

compare::ExperimentSettings one_turn_each(const ArmMessages& messages, std::int64_t steps, double timeout,
                                          std::function<bool()> stop) {
    compare::ExperimentSettings settings;
    settings.blocks = settings.rounds = 1;
    settings.steps_per_block = steps;
    settings.time_ms = settings.warm_up_ms = settings.min_turn_ms = 1.0;
    settings.timeout_ms = timeout * 1e3;
    settings.repeats = false;
    settings.prepare = [&messages](const compare::Preparation& what) { return messages.prepare(what); };
    settings.drift = [&messages](std::size_t arm, std::size_t base) { return messages.drift(arm, base); };
    settings.progress = [](const compare::ExperimentProgress&) {};
    settings.stop = std::move(stop);
    return settings;
}

}  // namespace switchyard::cli
