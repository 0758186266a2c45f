#include "core/workbench/cli/job/layout_choice.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include <switchyard/interfaces/torch_types.h>
#include "core/kernel/base/number_text.h"
#include "core/kernel/config/show.h"
#include "core/kernel/loader/content_hash.h"
#include "core/kernel/machine/cpu_allocator.h"
#include "core/kernel/resolver/plan_json.h"
#include "core/kernel/runtime/random_state.h"
#include "core/workbench/bench/measure/memory.h"
#include "core/workbench/bench/measure/other_work.h"
#include "core/workbench/bench/measure/timing.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/data/drawing.h"
#include "core/workbench/data/sample_list.h"
#include "core/workbench/data/splits.h"
#include "core/workbench/model/planning.h"
#include "core/workbench/train/session.h"

namespace switchyard::cli {
namespace {

using resolver::MeasuredCandidate;

constexpr std::array<Layout, 2> layouts{Layout::padded, Layout::packed};

struct Contender {
    config::Config config;
    resolver::Plan plan;
};

// One for each of `layouts`, planned with the same measured times.
std::vector<Contender> planned(const config::Config& config, runtime::Registry& registry,
                               const HostInfo& host, Missing missing) {
    std::vector<config::Config> configs(layouts.size(), config);
    for (std::size_t i = 0; i < layouts.size(); ++i) configs[i].batch.layout = layouts[i];
    const auto choice = auto_choice(configs, registry, host, missing);
    std::vector<Contender> contenders;
    for (auto& one : configs) {
        auto plan = model::make_plan(one, registry, host, choice);
        contenders.push_back({std::move(one), std::move(plan)});
    }
    return contenders;
}

// Changes with whatever decides about the time of a step: not with learning rates, the steps to do, the seed.
std::string measured_class(const config::Config& config) {
    auto job = config;
    const config::Config standard;
    job.train = standard.train;
    job.train.recompute = config.train.recompute;
    job.optimizer = standard.optimizer;
    job.plugins = standard.plugins;
    job.run.seed = standard.run.seed;
    std::string text = config::canonical_text(job);
    const auto add_files = [&text](const std::vector<std::string>& files) {
        for (const auto& file : files) {
            std::error_code none;
            const auto size = std::filesystem::file_size(file, none);
            if (!none) text += file + " " + std::to_string(size) + "\n";
        }
    };
    for (const auto& source : data::sources_of(config.data)) add_files(source.files);
    add_files(config.data.target_train);
    return "batch.layout of " + std::string(name(config.model.type)) + ", " +
           std::string(name(config.task.kind)) + ", batch " + std::to_string(config.batch.size) + " (" +
           loader::text_hash(text).substr(0, 16) + ")";
}

MeasuredCandidate identity(const Contender& contender) {
    MeasuredCandidate candidate;
    candidate.name = std::string(name(*contender.config.batch.layout));
    std::string chosen;
    for (const auto& row : contender.plan.rows) {
        chosen += row.use.slot + " " + row.use.layers + " " + std::string(name(row.use.phase)) + " " +
                  row.chosen->plugin + "/" + row.chosen->component + " " + row.chosen->content_hash + " " +
                  resolver::to_json(row.chosen->options).dump() + "\n";
    }
    candidate.library = loader::text_hash(chosen).substr(0, 16);
    return candidate;
}

bool same_candidates(const resolver::Measurement& measurement, const std::vector<Contender>& contenders) {
    if (measurement.candidates.size() != contenders.size()) return false;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        const auto now = identity(contenders[i]);
        if (measurement.candidates[i].name != now.name || measurement.candidates[i].library != now.library)
            return false;
    }
    return true;
}

// Two batches' worth of the job's samples, drawn without repetition: every contender works on the same ones.
data::SampleList drawn_samples(const SampleSource& all, const config::BatchConfig& batch) {
    data::Drawing drawing(all.size(), 1);
    data::SampleList samples;
    std::int64_t tokens = 0;
    while (drawing.left() > 0) {
        const bool enough = batch.tokens > 0 ? tokens >= 2 * batch.tokens : samples.size() >= 2 * batch.size;
        if (enough) break;
        const auto index = drawing.next();
        samples.add(all.get(index, 0));
        tokens += all.length(index);
    }
    return samples;
}

// One contender, ready to run: a model, and the batches that its data loader makes of the samples.
class Runner {
public:
    Runner(const Contender& contender, runtime::Registry& registry, const HostInfo& host)
        : session_(contender.config, contender.plan, registry, host) {}

    train::Session& session() { return session_; }

    void start(std::shared_ptr<const SampleSource> samples) {
        trainer_.emplace(session_.make_trainer(std::move(samples)));
        for (Batch batch; session_.train_loader().next(batch);) batches_.push_back(std::move(batch));
    }
    void run() { trainer_->accumulate(batches_); }

private:
    train::Session session_;
    std::optional<train::Trainer> trainer_;
    std::vector<Batch> batches_;
};

resolver::Measurement measure(const std::vector<Contender>& contenders, runtime::Registry& registry,
                              const HostInfo& host) {
    const Device device = contenders.front().config.run.device;
    // LibTorch's generators are left where they were, whether or not something was measured.
    const runtime::ReplayRandom kept(runtime::RandomState::capture(device), device);
    std::vector<std::unique_ptr<Runner>> runners;
    for (const auto& contender : contenders) {
        runners.push_back(std::make_unique<Runner>(contender, registry, host));
        runners.back()->session().load_tokenizer();
    }
    auto& first = runners.front()->session();
    first.load_data();
    const auto samples = std::make_shared<const data::SampleList>(
        drawn_samples(*first.data().train, contenders.front().config.batch));
    std::vector<bench::Arm> arms;
    for (auto& runner : runners) {
        runner->start(samples);
        arms.push_back({"", [&runner] { runner->run(); }});
    }
    bench::TimingOptions options;
    options.time_budget_ms = 8000.0;
    options.min_blocks = 9;
    options.max_blocks = 25;
    bench::HostStopwatch stopwatch([at = c10::Device(to_device_type(device))] { bench::synchronize(at); });
    const auto timed = bench::time_arms(arms, options, stopwatch);
    resolver::Measurement measurement;
    // Packed is written down by its ratio to padded within a block, which is free of what disturbs both.
    const auto speedup = timed.speedup_of(1, 0);
    const double base = timed.arms.front().ms.median;
    for (const auto& contender : contenders) measurement.candidates.push_back(identity(contender));
    auto &padded = measurement.candidates.front(), &packed = measurement.candidates.back();
    padded.ms = padded.low = padded.high = base;
    packed.ms = base / speedup.median;
    packed.low = base / speedup.high;
    packed.high = base / speedup.low;
    runners.clear();
    machine::trim_cpu_cache();
    machine::reset_cpu_peak();
    return measurement;
}

struct LayoutChoice {
    Layout layout = Layout::padded;
    std::string how;
};

LayoutChoice fallen_back(const std::string& why) { return {Layout::padded, "padded (auto: " + why + ")"}; }

// Padded is the one that any component serves; so it is given up only for a difference that shows.
LayoutChoice judged(const resolver::Measurement& measurement) {
    const auto &padded = measurement.candidates.front(), &packed = measurement.candidates.back();
    const bool faster = packed.high < padded.low && packed.ms < 0.97 * padded.ms;
    const auto times =
        base::interval_text({padded.ms / packed.ms, padded.ms / packed.high, padded.ms / packed.low});
    return {faster ? Layout::packed : Layout::padded,
            std::string(faster ? "packed (auto: " : "padded (auto: packed is ") + times + " times as fast" +
                (faster ? " as padded" : "") + ", measured with samples of this job on this host, " +
                measurement.date + ")"};
}

LayoutChoice choose_layout(const config::Config& config, runtime::Registry& registry, const HostInfo& host,
                           Missing missing) {
    const auto contenders = planned(config, registry, host, missing);
    const auto &padded = contenders.front(), &packed = contenders.back();
    if (!padded.plan.ok() && packed.plan.ok())
        return {Layout::packed, "packed (auto: the padded layout is not served)"};
    if (!packed.plan.ok()) return fallen_back("the packed layout is not served");
    if (const auto why = rank_because(config, host); !why.empty())
        return fallen_back("not measured, because of " + why);

    if (!config.data.given()) return fallen_back("not measured: [data] names no samples to measure with");
    const auto cache = measurement_cache(config, host);
    const auto wanted = measured_class(config);
    std::vector<std::string> notes;
    for (const auto& known : cache.load(notes)) {
        if (known.shape_class == wanted && same_candidates(known, contenders)) return judged(known);
    }
    if (missing == Missing::leave)
        return fallen_back("not measured on this host yet; `switchyard train` and `tune` measure it");
    show_progress("batch.layout: timing padded and packed batches, for about 8 s");
    const auto before = bench::processor_times();
    auto measurement = measure(contenders, registry, host);
    const double others = bench::share_of_others(before, bench::processor_times());
    show_progress("");
    measurement.shape_class = wanted;
    measurement.host = cache.host();
    measurement.date = today();
    if (others > bench::undisturbed_share && config.runtime.keep_times == config::KeepTimes::undisturbed)
        std::cerr << ("note: batch.layout: other programs used " +
                      std::to_string(std::lround(100.0 * others)) +
                      " % of the processors while it was timed: the times hold for this run and are not kept "
                      "(runtime.keep_times)\n");
    else if (const auto error = cache.store(measurement))
        std::cerr << ("warning: the measured batch.layout could not be saved: " + *error + "\n");
    auto choice = judged(measurement);
    std::cerr << ("batch.layout: " + choice.how + "\n");
    return choice;
}

// The layout of an earlier plan.
LayoutChoice recorded_layout(const std::string& plan_json) {
    const auto slots = recorded_slots(plan_json);
    try {
        for (const auto& slot : slots) {
            const auto layout = parse<Layout>(slot.at("request").at("layout").get<std::string>());
            if (layout) return {*layout, std::string(name(*layout)) + " (auto: as in " + plan_json + ")"};
        }
    } catch (const nlohmann::json::exception&) {
        return fallen_back(plan_json + " does not say which");
    }
    return fallen_back(plan_json + " does not say which");
}

}  // namespace

std::string decide_layout(config::Config& config, runtime::Registry& registry, const HostInfo& host,
                          Missing missing, const std::string& recorded) {
    if (config.batch.layout) return "";
    auto choice =
        recorded.empty() ? choose_layout(config, registry, host, missing) : recorded_layout(recorded);
    config.batch.layout = choice.layout;
    return std::move(choice.how);
}

void note_layout(resolver::Plan& plan, const std::string& how) {
    for (auto& row : plan.rows) {
        if (!how.empty() && row.use.kind == Kind::data_loader) row.notes.push_back("batch.layout: " + how);
    }
}

}  // namespace switchyard::cli
