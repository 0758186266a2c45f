#include <switchyard/compare/stacks/step_bench.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include <ATen/TensorOperators.h>
#include <nlohmann/json.hpp>

#include <switchyard/compare/bench/bench_report.h>
#include <switchyard/compare/measure/memory.h>
#include <switchyard/compare/measure/relative_distance.h>
#include <switchyard/compare/measure/text_table.h>
#include <switchyard/compare/stacks/plain_bert.h>
#include <switchyard/compare/stacks/random_samples.h>
#include <switchyard/host/calling/guard.h>
#include <switchyard/model/planning.h>
#include <switchyard/train/session.h>

namespace switchyard::compare {
namespace {

constexpr std::int64_t batches_in_turn = 4;
const c10::Device cpu(c10::DeviceType::CPU);

using Gradients = std::vector<at::Tensor>;

// One stack with a model of its own, ready to step.
class Contestant {
public:
    Contestant(const config::Config& config, const BackendStack& stack, const SampleSource& samples,
               host::Registry& registry, const HostInfo& host, const resolver::ResolveOptions& choice)
        : plan_(planned(with_stack(config, stack), registry, host, choice)),
          session_(with_stack(config, stack), plan_, registry, host),
          trainer_(session_.make_trainer(samples)) {
        const auto& loader = session_.train_loader();
        for (std::int64_t i = 0; i < loader.batches(); ++i) loader.next(batches_.emplace_back(1).front());
    }

    // Of the first batch, without dropout and without the policy's loss scale.
    std::pair<double, Gradients> first_gradients() {
        trainer_.set_dropout(false);
        const double loss = trainer_.accumulate(batches_.front());
        trainer_.set_dropout(true);
        auto found = trainer_.unscaled_gradients();
        session_.parameters().zero_gradients();
        return {loss, found};
    }

    void step() { trainer_.step(batches_[next_++ % batches_.size()]); }

    train::Session& session() { return session_; }
    const std::vector<std::vector<Batch>>& batches() const { return batches_; }
    std::string dtype() const {
        return std::string(name(session_.plan().precision().compute(OpClass::linear, "model")));
    }

private:
    static resolver::Plan planned(const config::Config& config, host::Registry& registry,
                                  const HostInfo& host, const resolver::ResolveOptions& choice) {
        auto plan = model::make_plan(config, registry, host, choice);
        for (const auto& row : plan.rows) {
            if (!row.chosen) throw std::invalid_argument(row.use.slot + ": " + row.error);
        }
        return plan;
    }

    resolver::Plan plan_;
    train::Session session_;
    train::Trainer trainer_;
    std::vector<std::vector<Batch>> batches_;
    std::size_t next_ = 0;
};

std::map<std::string, std::string> ran_of(const train::Session& session) {
    std::map<std::string, std::string> ran;
    for (const auto& row : session.executed()) {
        if (row.phase != Phase::train || row.slot == "data_loader") continue;
        std::string text = row.plugin == row.component ? row.component : row.plugin + "/" + row.component;
        char mark = '@';
        for (const auto& [variant, calls] : row.calls) {
            if (!variant.empty()) text += mark + variant;
            mark = '+';
        }
        if (!row.calls.empty()) ran[row.slot] = text;
    }
    return ran;
}

class StepBench {
public:
    StepBench(const config::Config& config, const StepBenchOptions& options, host::Registry& registry,
              const HostInfo& host, const resolver::ResolveOptions& choice)
        : config_(config),
          options_(options),
          registry_(registry),
          host_(host),
          choice_(choice),
          samples_(config, batches_in_turn * config.batch.size, options.lengths, options.timing.seed) {}

    StepReport run(Stopwatch& stopwatch) {
        const auto& m = config_.model;
        report_.model =
            std::string(name(m.type)) + ", " + std::to_string(m.layers) + " layers, hidden " +
            std::to_string(m.hidden_size) + "; " + std::to_string(config_.batch.size) + " samples of " +
            (options_.lengths
                 ? std::to_string(options_.lengths->min) + " to " + std::to_string(options_.lengths->max)
                 : std::to_string(config_.batch.max_length)) +
            " tokens";
        report_.plain = options_.plain;
        if (options_.plain) attempt("plain LibTorch", [&](StepRow& row) { prepare_plain(row); });
        for (const auto& stack : options_.stacks)
            attempt(stack.name, [&](StepRow& row) { prepare(row, stack); });
        if (!arms_.empty()) time(stopwatch);
        return std::move(report_);
    }

private:
    template <class Prepare>
    void attempt(const std::string& stack, Prepare&& prepare) {
        StepRow row;
        row.stack = stack;
        try {
            prepare(row);
        } catch (const host::PluginError& error) {
            row.message = error.what();
        } catch (const std::invalid_argument& error) {
            row.message = error.what();
        } catch (const train::InputError& error) {
            row.message = error.what();
        }
        report_.rows.push_back(std::move(row));
    }

    void judge_gradients(StepRow& row, const std::pair<double, Gradients>& first) {
        row.loss = first.first;
        if (base_.empty()) base_ = first.second;
        row.drift = relative_distance(first.second, base_);
    }

    // The first stack lends it the values that it begins with, and its dtype.
    void prepare_plain(StepRow& row) {
        const auto first = with_stack(config_, options_.stacks.front());
        if (const auto why_not = PlainBert::unsupported(first); !why_not.empty())
            throw std::invalid_argument(why_not);
        Contestant lender(config_, options_.stacks.front(), samples_, registry_, host_, choice_);
        row.dtype = lender.dtype();
        plain_ = std::make_unique<PlainBert>(first, lender.session().parameters(), row.dtype == "bfloat16");
        plain_batches_ = lender.batches();
        judge_gradients(row, plain_->gradients(plain_batches_.front().front()));
        const auto step = [this] {
            plain_->step(plain_batches_[plain_next_++ % plain_batches_.size()].front());
        };
        step();
        row.extra_memory_bytes = extra_memory(step, cpu);
        arms_.push_back({row.stack, step});
        contestants_.push_back(nullptr);
        row_of_arm_.push_back(report_.rows.size());
    }

    void prepare(StepRow& row, const BackendStack& stack) {
        row.overrides = overrides(stack);
        auto contestant = std::make_unique<Contestant>(config_, stack, samples_, registry_, host_, choice_);
        row.dtype = contestant->dtype();
        judge_gradients(row, contestant->first_gradients());
        contestant->step();
        row.extra_memory_bytes = extra_memory([&] { contestant->step(); }, cpu);
        arms_.push_back({stack.name, [contestant = contestant.get()] { contestant->step(); }});
        contestants_.push_back(std::move(contestant));
        row_of_arm_.push_back(report_.rows.size());
    }

    void time(Stopwatch& stopwatch) {
        const TimingResult result = time_arms(arms_, options_.timing, stopwatch);
        const double tokens = [&] {
            double sum = 0.0;
            for (std::int64_t i = 0; i < samples_.size(); ++i) sum += static_cast<double>(samples_.length(i));
            return sum / static_cast<double>(batches_in_turn);
        }();
        for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
            StepRow& row = report_.rows[row_of_arm_[arm]];
            row.ms = result.arms[arm].ms;
            row.blocks = result.blocks;
            row.spoilt = result.arms[arm].spoilt;
            row.samples_per_second = 1e3 * static_cast<double>(config_.batch.size) / row.ms.median;
            row.tokens_per_second = 1e3 * tokens / row.ms.median;
            if (row_of_arm_.front() == 0) row.speedup = result.speedup_of(arm, 0);
            if (contestants_[arm]) row.ran = ran_of(contestants_[arm]->session());
        }
    }

    const config::Config& config_;
    const StepBenchOptions& options_;
    host::Registry& registry_;
    const HostInfo& host_;
    const resolver::ResolveOptions& choice_;
    RandomSamples samples_;
    StepReport report_;
    Gradients base_;
    std::unique_ptr<PlainBert> plain_;
    std::vector<std::vector<Batch>> plain_batches_;
    std::size_t plain_next_ = 0;
    std::vector<std::unique_ptr<Contestant>> contestants_;
    std::vector<std::size_t> row_of_arm_;
    std::vector<Arm> arms_;
};

}  // namespace

bool StepReport::over(const StepRow& row) const {
    return plain && &row != &rows.front() && row.message.empty() && row.speedup &&
           row.speedup->high < 1.0 / (1.0 + limit);
}

const StepRow* StepReport::fastest() const {
    const StepRow* best = nullptr;
    for (const StepRow& row : rows) {
        if ((plain && &row == &rows.front()) || !row.message.empty() || !std::isfinite(row.loss)) continue;
        if (best == nullptr || row.ms.median < best->ms.median) best = &row;
    }
    return best;
}

int StepReport::exit_code() const {
    const auto failed =
        std::count_if(rows.begin(), rows.end(), [](const StepRow& row) { return !row.message.empty(); });
    if (failed == static_cast<std::ptrdiff_t>(rows.size())) return 2;
    if (failed > 0) return 1;
    return std::any_of(rows.begin(), rows.end(), [this](const StepRow& row) { return over(row); }) ? 3 : 0;
}

StepReport run_step_bench(const config::Config& config, const StepBenchOptions& options,
                          host::Registry& registry, const HostInfo& host, Stopwatch& stopwatch,
                          const resolver::ResolveOptions& choice) {
    return StepBench(config, options, registry, host, choice).run(stopwatch);
}

}  // namespace switchyard::compare
