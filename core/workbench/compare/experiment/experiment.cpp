#include "core/workbench/compare/experiment/experiment.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/workbench/bench/measure/change_point.h"
#include "core/workbench/bench/measure/other_work.h"
#include "core/workbench/bench/measure/philox_stream.h"
#include "core/workbench/compare/arms/generated_turn.h"
#include "core/workbench/compare/experiment/experiment_plan.h"
#include "core/workbench/compare/experiment/judge_arms.h"
#include "core/workbench/compare/experiment/seed_evaluations.h"
#include "core/workbench/compare/experiment/skipped_steps.h"
#include "core/workbench/compare/experiment/start_up.h"

namespace switchyard::compare {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_steps = 500;       // of one turn to warm up
constexpr std::int64_t steps_of_a_chunk = 50;  // of a run to the end

class Experiment {
public:
    Experiment(std::vector<StartedArm> arms, const ExperimentSettings& settings)
        : settings_(settings),
          random_(settings.seed),
          result_(begun(arms, settings)),
          arms_(
              std::move(arms), settings.timeout_ms,
              [this](std::size_t at) -> ArmOutcome& { return result_.arms[at]; },
              [this](const std::string& text) { tell(text); }),
          evaluations_(arms_, result_, result_.eval_samples) {
        ready_.resize(arms_.size());
        unaccounted_.resize(arms_.size());
        done_.resize(arms_.size(), 0);
        start_ups_.resize(arms_.size());
        written_steps_.resize(arms_.size());
    }

    Comparison run() {
        prepare_all(-1);
        restart_ms_ = arms_.elapsed_ms();
        measure_drift();
        if (going()) warm_up();
        judge_passes(result_);
        if (going()) run_rounds();
        summarise_arms(result_);
        for (int seed = 0; seed < settings_.seeds && going(); ++seed) run_seed(seed);
        arms_.quit();
        result_.stopped = arms_.stopped();
        if (base_index(result_) != drift_base_) {  // the one they were held against has failed since
            measure_drift();
            judge_passes(result_);
        }
        judge_pairs(result_, settings_.margin);
        judge_stabilities(result_);
        result_.elapsed_ms = arms_.elapsed_ms();
        return std::move(result_);
    }

private:
    static Comparison begun(const std::vector<StartedArm>& arms, const ExperimentSettings& settings) {
        Comparison result;
        result.operation = settings.operation;
        result.new_tokens = settings.generation.tokens;
        result.seed = settings.seed;
        result.seeds = settings.seeds;
        result.loss_steps = settings.loss_steps;
        result.eval_samples = settings.seeds > 0 ? settings.eval_samples : 0;
        result.eval_metric = settings.eval_metric;
        result.margin = settings.loss_margin;
        for (const auto& started : arms) result.arms.emplace_back().spec = started.spec;
        return result;
    }

    bool going() const { return arms_.going(); }
    // `left_ms`: of something that has taken `spent_ms` so far; both 0: nobody knows.
    void tell(const std::string& text, double spent_ms = 0.0, double left_ms = 0.0) const {
        if (!settings_.progress) return;
        const double all = spent_ms + left_ms;
        settings_.progress({text, all > 0.0 ? spent_ms / all : -1.0, left_ms / 1e3});
    }
    void end(std::size_t at, ArmStatus status, const std::string& reason) { arms_.end(at, status, reason); }

    // `round`: after the first, arms are started anew for it.
    void prepare_all(int seed, int round = 0) {
        std::vector<std::size_t> order(arms_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_partition(order.begin(), order.end(),
                              [&](std::size_t at) { return at == settings_.reference_arm; });
        for (const std::size_t at : order) {
            if (arms_.stopped()) return;
            if (result_.arms[at].ok() && round > 0) start(at);
            if (result_.arms[at].ok()) prepare(at, seed, round);
            if (at != settings_.reference_arm || round > 0) continue;
            if (!result_.arms[at].ok()) return fail_external_arms(seed);
        }
    }

    // They cannot run without the weights and batches of the reference arm.
    void fail_external_arms(int seed) {
        for (std::size_t at = 0; at < arms_.size(); ++at) {
            if (result_.arms[at].ok() && result_.arms[at].spec.external())
                end(at, ArmStatus::failed,
                    "was not run: it loads weights and batches of " +
                        result_.arms[settings_.reference_arm].spec.name + ", which failed");
        }
        for (std::size_t at = 0; at < arms_.size(); ++at) {
            if (result_.arms[at].ok() && !arms_.stopped()) prepare(at, seed);
        }
    }

    void start(std::size_t at) {
        std::string error;
        arms_.end_process(at);
        auto client = settings_.start(at, error);
        arms_.replace(at, std::move(client), error);
    }

    void prepare(std::size_t at, int seed, int round = 0) {
        tell(result_.arms[at].spec.name + ": prepares" +
             (seed >= 0   ? " for seed " + std::to_string(seed + 1)
              : round > 0 ? " for round " + std::to_string(round + 1)
                          : ""));
        done_[at] = 0;
        if (const auto lacks = settings_.supply ? settings_.supply({at, seed, round}) : ""; !lacks.empty())
            return end(at, ArmStatus::failed, lacks);
        const double before = arms_.elapsed_ms();
        auto ready = arms_.prepared(at, settings_.prepare({at, seed, round}), settings_.operation);
        if (ready && round == 0 && settings_.written_steps)
            written_steps_[at] = settings_.written_steps({at, seed, round});
        if (ready && seed >= 0) evaluations_.prepared(at, *ready);
        if (!ready || seed >= 0 || round > 0) return;
        start_ups_[at].prepared(arms_.elapsed_ms() - before);
        if (!std::isfinite(ready->loss) && !result_.arms[at].spec.external() && !generates())
            return end(at, ArmStatus::nan, "the loss of its first batch is not finite, before any step");
        ready_[at] = std::move(ready);
    }

    bool generates() const { return settings_.operation == Operation::generate; }

    // Against the first arm that works.
    void measure_drift() {
        const auto from = drift_base_ = base_index(result_);
        for (auto& arm : result_.arms) arm.drift = arm.allowed = Drift{};
        const auto known = std::find_if(ready_.begin(), ready_.end(),
                                        [](const auto& one) { return one && one->amplification; });
        for (std::size_t at = from + 1; at < arms_.size(); ++at) {
            auto& arm = result_.arms[at];
            if (!arm.ok() || !arm.spec.differs.empty() || arm.spec.own_batches) continue;
            if (!ready_[at] || !ready_[from]) continue;  // told to stop meanwhile
            const auto &ours = *ready_[at], &theirs = *ready_[from];
            if (settings_.drift && ours.first_step_written && theirs.first_step_written)
                arm.drift = settings_.drift(at, from);
            arm.drift.loss = relative_difference(ours.loss, theirs.loss);
            if (known == ready_.end()) continue;
            const auto& amplification = *(*known)->amplification;
            arm.allowed = generates() ? allowed_generation_drift(amplification, theirs, ours)
                                      : allowed_drift(amplification, theirs.dtype, ours.dtype);
        }
    }

    // Steps of one arm, their losses kept; nothing where it failed.
    std::optional<Turn> take_turn(std::size_t at, std::int64_t steps, const std::string& phase,
                                  double& wall_ms, std::vector<double>& losses) {
        auto asked = settings_.generation;
        asked.passes = steps;
        const Json request =
            generates() ? generation_request(asked) : Json{{"type", "run"}, {"steps", steps}};
        const auto line = arms_.request(at, request, phase, &wall_ms);
        if (!line) return std::nullopt;
        auto taken =
            arms_.taken<Turn>(at, generates() ? read_generated_turn(*line, asked) : read_turn(*line, steps));
        if (!taken) return std::nullopt;
        auto& turn = *taken;
        used_ms_ += wall_ms;
        const double claimed = std::accumulate(turn.step_ms.begin(), turn.step_ms.end(), 0.0);
        const auto of_what = std::to_string(steps) + (steps == 1 ? " step" : " steps");
        if (!arms_.accounted(at, claimed, wall_ms, of_what)) return std::nullopt;
        if (const auto wrong = wrong_batches(at, turn, steps); !wrong.empty()) {
            end(at, ArmStatus::protocol_error, wrong);
            return std::nullopt;
        }
        if (const auto wrong = wrong_samples(turn, steps); !wrong.empty()) {
            end(at, ArmStatus::protocol_error, wrong);
            return std::nullopt;
        }
        done_[at] += steps;
        for (const double loss : turn.loss) {
            losses.push_back(loss);
            if (std::isfinite(loss)) continue;
            end(at, ArmStatus::nan, "the loss is not finite at step " + std::to_string(losses.size()));
            return std::nullopt;
        }
        result_.arms[at].skipped_steps += turn.skipped;
        result_.arms[at].generated = turn.generated;
        return std::move(turn);
    }

    std::string wrong_batches(std::size_t at, const Turn& turn, std::int64_t steps) const {
        return wrong_counts(written_steps_[at], done_[at], steps, turn.samples, turn.tokens);
    }

    // Passes are over the same samples in all arms: what an arm left out would make it faster.
    std::string wrong_samples(const Turn& turn, std::int64_t passes) {
        if (!is_over_samples(settings_.operation)) return "";
        if (turn.prompt_tokens >= 0 && prompt_tokens_ < 0) prompt_tokens_ = turn.prompt_tokens;
        if (turn.prompt_tokens >= 0 && turn.prompt_tokens != prompt_tokens_)
            return "it reports " + std::to_string(turn.prompt_tokens) + " tokens of the prompts; they have " +
                   std::to_string(prompt_tokens_);
        if (pass_samples_ == 0) pass_samples_ = turn.samples / passes;
        if (turn.samples == pass_samples_ * passes) return "";
        return "it reports " + std::to_string(turn.samples) + " samples for " + std::to_string(passes) + " " +
               std::string(passes == 1 ? unit_of(settings_.operation) : units_of(settings_.operation)) +
               "; each is over " + std::to_string(pass_samples_);
    }

    // In turns, as later, until times of all arms are steady. The last turn's are what is planned with.
    void warm_up() {
        tell("warming up");
        std::vector<double> spent(arms_.size(), 0.0), last(arms_.size(), 0.0);
        costs_.assign(arms_.size(), {});
        std::int64_t steps = 1;
        for (int turn = 0; going(); ++turn) {
            double fastest = 1e300;
            for (std::size_t at = 0; at < arms_.size() && !arms_.stopped(); ++at) {
                if (!result_.arms[at].ok()) continue;
                double wall = 0.0;
                const auto done = take_turn(at, steps, "while it warmed up", wall, result_.arms[at].losses);
                if (!done) continue;
                keep_skips(*done, steps, result_.arms[at].skipped);
                start_ups_[at].took(wall, done->step_ms);
                keep_costs(at, *done);
                last[at] = wall / static_cast<double>(steps);
                fastest = std::min(fastest, last[at]);
                if (turn > 0) spent[at] += wall;
            }
            result_.warm_up_steps += steps;
            double least = 1e300, total = 0.0;
            for (std::size_t at = 0; at < arms_.size(); ++at) {
                if (result_.arms[at].ok()) least = std::min(least, spent[at]), total += spent[at];
            }
            const double left = settings_.time_ms / 5.0 - total;
            if (turn >= 1 && ((least >= settings_.warm_up_ms && steady()) || left <= 0.0)) break;
            // As many as the fastest arm needs for a quarter of its time, if the others have time for them.
            const double round = std::accumulate(last.begin(), last.end(), 1e-3);
            const double wanted = settings_.warm_up_ms / 4.0 / std::max(fastest, 1e-3);
            steps = std::clamp(static_cast<std::int64_t>(std::min(wanted, left / round)), std::int64_t{1},
                               most_steps);
        }
        plan(last);
    }

    // Of the steps that warm up, by what each has to do.
    void keep_costs(std::size_t at, const Turn& turn) {
        for (std::size_t step = 0; step < turn.step_ms.size(); ++step) {
            const bool counted = !turn.step_tokens.empty() && turn.step_tokens[step] > 0;
            costs_[at].push_back(turn.step_ms[step] /
                                 (counted ? static_cast<double>(turn.step_tokens[step]) : 1.0));
        }
        const auto steady = bench::steady_from(costs_[at]);
        result_.arms[at].steady_from = static_cast<std::int64_t>(steady);
        result_.arms[at].start_up_ms = start_ups_[at].until(steady);
    }

    // Whether a quarter of all steps came after the last change, in every arm.
    bool steady() const {
        for (std::size_t at = 0; at < arms_.size(); ++at) {
            const auto& arm = result_.arms[at];
            if (arm.ok() && 4 * arm.steady_from > 3 * static_cast<std::int64_t>(costs_[at].size()))
                return false;
        }
        return true;
    }

    void plan(const std::vector<double>& last_step_ms) {
        Measured measured;
        std::int64_t until_steady = 0;
        for (std::size_t at = 0; at < last_step_ms.size(); ++at) {
            if (!result_.arms[at].ok()) continue;
            measured.step_ms.push_back(last_step_ms[at]);
            until_steady = std::max(until_steady, result_.arms[at].steady_from);
        }
        const double sum = std::accumulate(measured.step_ms.begin(), measured.step_ms.end(), 0.0);
        if (sum == 0.0) return;
        // A further start is as warm after as many steps as the first one was, and has its caches filled.
        const auto later = std::clamp<std::int64_t>(
            until_steady + 1, std::min<std::int64_t>(2, result_.warm_up_steps), result_.warm_up_steps);
        measured.used_ms = used_ms_;
        if (settings_.start) measured.restart_ms = restart_ms_ + sum * static_cast<double>(later);
        plan_ = plan_experiment(settings_, measured);
        if (settings_.planned)
            settings_.planned(
                plan_.blocks,
                (used_ms_ + plan_.block_ms * plan_.blocks + measured.restart_ms * (plan_.rounds - 1)) / 1e3);
        result_.steps_per_block = plan_.steps_per_block;
        result_.lead_in = plan_.lead_in;
        result_.later_warm_up_steps = plan_.rounds > 1 ? later : 0;
        repeats_left_ = settings_.repeats ? std::max(1, plan_.blocks / 4) : 0;
    }

    void run_rounds() {
        for (int round = 0; round < plan_.rounds && going(); ++round) {
            if (round > 0 && (is_over(round) || !begin_round(round))) return;
            const bool over = !run_blocks(round);
            if (round == 0 && settings_.observes) observe();
            if (over) return;
        }
    }

    // False: the time was over before their end.
    bool run_blocks(int round) {
        for (int block = 0; block < plan_.blocks_in(round) && going(); ++block) {
            if (is_over(block == 0 ? round : round + 1)) return false;
            tell("block " + std::to_string(result_.blocks + 1) + " of " + std::to_string(plan_.blocks),
                 used_ms_, plan_.block_ms * (plan_.blocks - result_.blocks));
            while (going() && !run_block(round)) {
            }
            if (going()) result_.rounds = round + 1;
        }
        return true;
    }

    // Beside the blocks: whatever arms do next, they end or prepare anew before it.
    void observe() {
        for (std::size_t at = 0; at < arms_.size() && going(); ++at) {
            auto& arm = result_.arms[at];
            if (!arm.ok() || !ready_[at] || !ready_[at]->observes) continue;
            tell(arm.spec.name + ": observes a step");
            const auto line =
                arms_.request(at, Json::object({{"type", "observe"}}), "while it observed a step");
            if (line) arm.observed = arms_.taken<profile::ObservedStep>(at, read_observed(*line));
        }
    }

    // The number of blocks is not stretched by a machine that has become slower, beyond what is always taken
    // and the rounds that were asked for. `rounds`: those that have a block.
    bool is_over(int rounds) const {
        const int least = settings_.rounds > 0 ? plan_.rounds : std::min(plan_.rounds, least_rounds);
        return settings_.blocks == 0 && used_ms_ > settings_.time_ms && rounds >= least &&
               result_.blocks >= settings_.min_blocks;
    }

    // All arms anew; false: none is left, or it was stopped.
    bool begin_round(int round) {
        const double before = arms_.elapsed_ms();
        prepare_all(-1, round);
        for (std::size_t at = 0; at < arms_.size() && !arms_.stopped(); ++at) {
            double wall = 0.0;
            std::vector<double> losses;
            if (result_.arms[at].ok())
                (void)take_turn(at, result_.later_warm_up_steps,
                                "while it warmed up in round " + std::to_string(round + 1), wall, losses);
            used_ms_ -= wall;  // it is in what follows
        }
        const double took = arms_.elapsed_ms() - before;
        used_ms_ += took;
        if (round == 1) add_rounds(plan_, settings_, used_ms_, took);
        return going();
    }

    // False: some arm was disturbed, and the block is to be repeated.
    bool run_block(int round) {
        std::vector<std::size_t> order(arms_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        random_.shuffle(order);
        for (auto& arm : result_.arms) arm.blocks.emplace_back();
        int position = 0;
        bool disturbed = false;
        for (const std::size_t at : order) {
            if (!result_.arms[at].ok() || arms_.stopped()) continue;
            auto block = time_turn(at, position++, round);
            disturbed = disturbed || (block && block->others_share > bench::undisturbed_share);
            if (block) result_.arms[at].blocks.back() = std::move(block);
        }
        if (disturbed && repeats_left_ > 0) {
            --repeats_left_;
            ++result_.repeated_blocks;
            for (auto& arm : result_.arms) {
                if (arm.blocks.back()) arm.blocks.back()->repeated = true;
            }
            return false;
        }
        if (!arms_.stopped()) ++result_.blocks;
        return true;
    }

    std::optional<ArmBlock> time_turn(std::size_t at, int position, int round) {
        const std::int64_t lead = result_.lead_in, steps = result_.steps_per_block;
        auto& arm = result_.arms[at];
        double wall = 0.0;
        std::vector<double> of_later_start;
        const auto turn = take_turn(at, lead + steps, "in block " + std::to_string(result_.blocks + 1), wall,
                                    round > 0 ? of_later_start : arm.losses);
        if (!turn) return std::nullopt;
        if (round == 0) keep_skips(*turn, lead + steps, result_.arms[at].skipped);
        arm.peak_memory_bytes = std::max(arm.peak_memory_bytes, turn->peak_memory_bytes);
        arm.executed = turn->executed;
        ArmBlock block;
        block.round = round;
        block.page_faults = turn->page_faults;
        block.others_share = turn->others_share;
        block.clock = settings_.clock();
        block.wall_ms = wall;
        block.steps = steps;
        const auto timed = [&](const std::vector<std::int64_t>& each, std::int64_t all) {
            // Not in whole numbers: their product may have more than 64 bits.
            const double timed_part = static_cast<double>(all) * static_cast<double>(steps);
            if (each.empty())
                return static_cast<std::int64_t>(timed_part / static_cast<double>(lead + steps));
            return std::accumulate(each.begin() + lead, each.end(), std::int64_t{0});
        };
        block.samples = std::max<std::int64_t>(1, timed(turn->step_samples, turn->samples));
        block.tokens = timed(turn->step_tokens, turn->tokens);
        if (!turn->prefill_ms.empty())
            block.prefill_ms = std::accumulate(turn->prefill_ms.begin() + lead, turn->prefill_ms.end(), 0.0) /
                               static_cast<double>(steps);
        const double ms = std::accumulate(turn->step_ms.begin() + lead, turn->step_ms.end(), 0.0);
        block.sample = {position, ms / static_cast<double>(steps), turn->involuntary_switches, false};
        const double claimed = std::accumulate(turn->step_ms.begin(), turn->step_ms.end(), 0.0);
        unaccounted_[at].push_back(claimed / wall);
        // Its clock is used if the times it reports fill its turns.
        arm.by_coordinator = wall - claimed > 5.0 && bench::median(unaccounted_[at]) < 0.8;
        return block;
    }

    void run_seed(int seed) {
        prepare_all(seed);
        for (std::size_t at = 0; at < arms_.size() && going(); ++at) {
            auto& arm = result_.arms[at];
            if (!arm.ok()) continue;
            arm.seed_losses.emplace_back();
            std::vector<bool> skipped;
            for (std::int64_t done = 0; done < settings_.loss_steps && arm.ok() && !arms_.stopped();) {
                const auto steps = std::min(steps_of_a_chunk, settings_.loss_steps - done);
                double wall = 0.0;
                tell_seed(arm.spec.name, seed, done);
                const auto turn =
                    take_turn(at, steps, "in seed " + std::to_string(seed + 1), wall, arm.seed_losses.back());
                if (turn) keep_skips(*turn, steps, skipped);
                done += steps;
                seed_steps_ += steps;
                seeds_ms_ += wall;
            }
            if (!arm.ok() || arms_.stopped()) continue;
            arm.final_losses.push_back(final_loss(arm.seed_losses.back(), skipped));
            if (settings_.eval_samples > 0)
                tell(arm.spec.name + ": evaluates after seed " + std::to_string(seed + 1));
            evaluations_.evaluate(at, seed);
        }
        evaluations_.check(seed, settings_.reference_arm);
    }

    void tell_seed(const std::string& arm, int seed, std::int64_t done) const {
        const auto running = std::count_if(result_.arms.begin(), result_.arms.end(),
                                           [](const ArmResult& one) { return one.ok(); });
        const auto left =
            std::max<std::int64_t>(0, running * settings_.seeds * settings_.loss_steps - seed_steps_);
        const double step_ms = seeds_ms_ / static_cast<double>(std::max<std::int64_t>(1, seed_steps_));
        tell(arm + ": seed " + std::to_string(seed + 1) + " of " + std::to_string(settings_.seeds) +
                 ", step " + std::to_string(done) + " of " + std::to_string(settings_.loss_steps),
             seeds_ms_, step_ms * static_cast<double>(left));
    }

    const ExperimentSettings& settings_;
    bench::PhiloxStream random_;
    Comparison result_;
    ArmRequests arms_;
    SeedEvaluations evaluations_;
    std::vector<std::optional<Ready>> ready_;  // of the first start of each arm
    std::size_t drift_base_ = 0;               // the arm that drifts are from
    std::vector<std::vector<double>> unaccounted_;
    std::vector<std::vector<StepCounts>> written_steps_;  // by arm
    std::int64_t pass_samples_ = 0;                       // where passes are over samples, by the first turn
    std::int64_t prompt_tokens_ = -1;                     // likewise; -1: nobody has told
    std::vector<std::int64_t> done_;                      // steps since each arm prepared
    std::vector<std::vector<double>> costs_;              // of the steps that warmed up, by arm
    std::vector<StartUp> start_ups_;                      // of the first start
    ExperimentPlan plan_;
    double restart_ms_ = 0.0;      // that it takes to start and prepare all arms
    int repeats_left_ = 0;         // of blocks in which an arm was disturbed
    double used_ms_ = 0.0;         // of the time that is allowed
    std::int64_t seed_steps_ = 0;  // of all arms and seeds so far, which took:
    double seeds_ms_ = 0.0;
};

}  // namespace

Comparison run_experiment(std::vector<StartedArm> arms, const ExperimentSettings& settings) {
    return Experiment(std::move(arms), settings).run();
}

}  // namespace switchyard::compare
