#include "core/workbench/compare/inference/inference_experiment.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/workbench/bench/measure/other_work.h"
#include "core/workbench/bench/measure/philox_stream.h"
#include "core/workbench/compare/experiment/experiment_plan.h"

namespace switchyard::compare {
namespace {

constexpr std::int64_t most_passes = 200;  // of one block

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// What came of a turn, whichever the operation.
struct Passes {
    std::vector<double> pass_ms, prefill_ms, token_ms;
    std::int64_t involuntary_switches = -1;
    double others_share = -1.0;
    double wall_ms = 0.0;
};

class Inference {
public:
    Inference(std::vector<StartedArm> arms, const InferenceSettings& settings)
        : settings_(settings),
          random_(settings.seed),
          result_(begun(arms, settings)),
          arms_(
              std::move(arms), settings.timeout_ms,
              [this](std::size_t at) -> ArmOutcome& { return result_.arms[at]; },
              [this](const std::string& text) { tell(text); }) {}

    InferenceResult run() {
        prepare_all();
        measure_drift();
        const double restart_ms = arms_.elapsed_ms();
        const int rounds = choose_rounds(restart_ms);
        plans_.resize(settings_.workloads.size());
        for (int round = 0; round < rounds && arms_.going(); ++round) {
            if (round > 0) prepare_all(round);
            result_.rounds = round + 1;
            sample_machine();
            for (std::size_t workload = 0; workload < settings_.workloads.size() && arms_.going();
                 ++workload) {
                if (round == 0)
                    plan_workload(workload, rounds, restart_ms);
                else
                    warm_up(workload);
                run_blocks(workload, round, rounds);
                sample_machine();
            }
        }
        arms_.quit();
        result_.stopped = arms_.stopped();
        result_.elapsed_ms = arms_.elapsed_ms();
        if (settings_.peaks) result_.peaks = settings_.peaks();
        if (result_.base() != drift_base_) measure_drift();  // that one has failed since
        summarise_inference(result_, settings_.margin);
        return std::move(result_);
    }

private:
    // Of one workload, fixed before its first block.
    struct WorkloadPlan {
        std::int64_t passes = 1;  // of a block
        int blocks = 0;           // of all rounds
        int repeats_left = 0;     // of blocks in which an arm was disturbed
        double block_ms = 0.0;    // that one is expected to take
    };

    static InferenceResult begun(const std::vector<StartedArm>& arms, const InferenceSettings& settings) {
        InferenceResult result;
        result.operation = settings.operation;
        result.workloads = settings.workloads;
        result.seed = settings.seed;
        result.blocks.assign(settings.workloads.size(), 0);
        result.passes_per_block.assign(settings.workloads.size(), 0);
        for (const auto& started : arms) {
            auto& arm = result.arms.emplace_back();
            arm.spec = started.spec;
            arm.results.resize(settings.workloads.size());
        }
        return result;
    }

    void tell(const std::string& text, double share = -1.0, double left_ms = 0.0) const {
        if (settings_.progress) settings_.progress({text, share, left_ms / 1e3});
    }

    void sample_machine() const {
        if (settings_.sample_machine && arms_.going()) settings_.sample_machine();
    }

    int choose_rounds(double restart_ms) const {
        if (!settings_.start) return 1;
        if (settings_.rounds > 0) return settings_.rounds;
        const bool in_time = (least_rounds - 1) * restart_ms <= settings_.time_ms / 2.0;
        return in_time && (settings_.blocks == 0 || settings_.blocks >= 2 * least_rounds) ? least_rounds : 1;
    }

    // `round`: after the first, arms are started anew for it.
    void prepare_all(int round = 0) {
        ready_.resize(arms_.size());
        prepare(settings_.reference_arm, round);
        for (std::size_t at = 0; at < arms_.size() && !arms_.stopped(); ++at) {
            if (at == settings_.reference_arm || !result_.arms[at].ok()) continue;
            if (round == 0 && result_.arms[at].spec.external() && !result_.arms[settings_.reference_arm].ok())
                arms_.end(at, ArmStatus::failed,
                          "was not run: it loads weights and sequences of " +
                              result_.arms[settings_.reference_arm].spec.name + ", which failed");
            else
                prepare(at, round);
        }
    }

    void prepare(std::size_t at, int round) {
        auto& arm = result_.arms[at];
        if (!arm.ok()) return;
        tell(arm.spec.name + ": prepares" + (round > 0 ? " for round " + std::to_string(round + 1) : ""));
        if (round > 0) {
            std::string error;
            arms_.end_process(at);
            auto client = settings_.start(at, error);
            arms_.replace(at, std::move(client), error);
            if (!arm.ok()) return;
        }
        const auto ready = arms_.prepared(at, settings_.prepare(at, round), settings_.operation);
        if (!ready || round > 0) return;
        arm.weight_bytes = ready->weight_bytes;
        arm.reduced = ready->reduced;
        ready_[at] = ready;
    }

    // Against the first arm that works.
    void measure_drift() {
        const auto base = drift_base_ = result_.base();
        for (auto& arm : result_.arms) arm.drift = arm.allowed = not_known;
        const auto& from =
            settings_.reference_arm < ready_.size() ? ready_[settings_.reference_arm] : ready_[0];
        for (std::size_t at = base + 1; at < arms_.size(); ++at) {
            auto& arm = result_.arms[at];
            if (!arm.ok() || !arm.spec.differs.empty()) continue;
            if (!ready_[at] || !ready_[base]) continue;  // told to stop meanwhile
            if (settings_.drift && ready_[at]->first_step_written && ready_[base]->first_step_written)
                arm.drift = settings_.drift(at, base);
            if (from && from->amplification)
                arm.allowed =
                    allowed_generation_drift(*from->amplification, *ready_[base], *ready_[at]).output;
        }
    }

    // Times of the pass, by arm; 0: it did not answer.
    std::vector<double> warm_up(std::size_t workload) {
        std::vector<double> pass_ms(arms_.size(), 0.0);
        for (std::size_t at = 0; at < arms_.size() && !arms_.stopped(); ++at) {
            if (!result_.arms[at].ok()) continue;
            tell(where(workload) + result_.arms[at].spec.name + " warms up");
            if (const auto turn = take_turn(at, workload, 1, "while it warmed up"))
                pass_ms[at] = turn->wall_ms;
        }
        return pass_ms;
    }

    void plan_workload(std::size_t workload, int rounds, double restart_ms) {
        const double began_ms = used_ms_;
        warm_up(workload);
        const auto pass_ms = warm_up(workload);
        double fastest = 1e300, all = 0.0;
        for (std::size_t at = 0; at < arms_.size(); ++at) {
            if (!result_.arms[at].ok()) continue;
            fastest = std::min(fastest, std::max(pass_ms[at], 1e-3));
            all += pass_ms[at];
        }
        if (!arms_.going()) return;
        auto& plan = plans_[workload];
        plan.passes = std::clamp(static_cast<std::int64_t>(std::ceil(settings_.min_turn_ms / fastest)),
                                 std::int64_t{1}, most_passes);
        const double later = restart_ms * (rounds - 1);
        const double of_each = (settings_.time_ms - later) / static_cast<double>(settings_.workloads.size());
        const double left = of_each - (used_ms_ - began_ms) - all * (rounds - 1);
        const auto block_ms = [&] { return std::max(all * static_cast<double>(plan.passes), 1e-3); };
        if (settings_.blocks == 0)
            plan.passes =
                std::min(most_passes, plan.passes * times_longer(left, block_ms(), settings_.max_blocks));
        plan.block_ms = block_ms();
        const int least = std::max(settings_.min_blocks, rounds > 1 ? 2 * rounds : 1);
        const int fitting = bench::fitting_blocks(left, plan.block_ms, least, settings_.max_blocks);
        plan.blocks = settings_.blocks > 0 ? settings_.blocks : fitting / rounds * rounds;
        plan.repeats_left = std::max(1, plan.blocks / 4);
        result_.passes_per_block[workload] = plan.passes;
    }

    // Blocks of one round: they are spread evenly.
    void run_blocks(std::size_t workload, int round, int rounds) {
        const auto& plan = plans_[workload];
        const int end = plan.blocks * (round + 1) / rounds;
        for (int block = plan.blocks * round / rounds; block < end && arms_.going(); ++block) {
            tell(
                where(workload) + "block " + std::to_string(block + 1) + " of " + std::to_string(plan.blocks),
                static_cast<double>(block) / plan.blocks, plan.block_ms * (plan.blocks - block));
            while (arms_.going() && !run_block(workload, round)) {
            }
        }
    }

    std::string where(std::size_t workload) const {
        return settings_.workloads[workload].text() + " (" + std::to_string(workload + 1) + " of " +
               std::to_string(settings_.workloads.size()) + "): ";
    }

    // False: some arm was disturbed, and the block is to be repeated.
    bool run_block(std::size_t workload, int round) {
        auto& plan = plans_[workload];
        std::vector<std::size_t> order(arms_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        random_.shuffle(order);
        std::vector<Counts> before;
        for (auto& arm : result_.arms) {
            auto& kept = arm.results[workload];
            before.push_back(
                {kept.pass_ms.size(), kept.prefill_ms.size(), kept.token_ms.size(), kept.by_coordinator});
            kept.blocks.emplace_back();
        }
        int position = 0;
        bool disturbed = false;
        for (const std::size_t at : order) {
            if (!result_.arms[at].ok() || arms_.stopped()) continue;
            const auto turn =
                take_turn(at, workload, plan.passes,
                          "in " + where(workload) + "block " + std::to_string(result_.blocks[workload] + 1));
            if (!turn) continue;
            keep(at, workload, *turn, position++, round);
            disturbed = disturbed || turn->others_share > bench::undisturbed_share;
        }
        if (disturbed && plan.repeats_left > 0) {
            --plan.repeats_left;
            ++result_.repeated_blocks;
            for (std::size_t at = 0; at < arms_.size(); ++at)
                take_back(result_.arms[at].results[workload], before[at]);
            return false;
        }
        if (!arms_.stopped()) ++result_.blocks[workload];
        return true;
    }

    // Times that an arm has on a workload.
    struct Counts {
        std::size_t passes = 0, prefills = 0, tokens = 0;
        bool by_coordinator = false;
    };

    static void take_back(WorkloadResult& kept, const Counts& before) {
        kept.pass_ms.resize(before.passes);
        kept.prefill_ms.resize(before.prefills);
        kept.token_ms.resize(before.tokens);
        kept.by_coordinator = before.by_coordinator;
        if (kept.blocks.back()) kept.blocks.back()->repeated = true;
    }

    void keep(std::size_t at, std::size_t workload, const Passes& turn, int position, int round) {
        auto& kept = result_.arms[at].results[workload];
        const double claimed = sum(turn.pass_ms), count = static_cast<double>(turn.pass_ms.size());
        // Its clock is used if the times it reports fill its turns.
        const bool outside = turn.wall_ms - claimed > 5.0 && claimed < 0.8 * turn.wall_ms;
        kept.by_coordinator = kept.by_coordinator || outside;
        InferenceBlock block;
        block.wall_ms = turn.wall_ms;
        block.round = round;
        block.others_share = turn.others_share;
        const double ms = (outside ? turn.wall_ms : claimed) / count;
        block.sample = {position, ms, turn.involuntary_switches, false};
        if (!turn.prefill_ms.empty()) block.prefill_ms = bench::median(turn.prefill_ms);
        if (!turn.token_ms.empty()) block.token_ms = bench::median(turn.token_ms);
        const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
            to.insert(to.end(), from.begin(), from.end());
        };
        if (outside)
            kept.pass_ms.insert(kept.pass_ms.end(), turn.pass_ms.size(), ms);
        else
            add(kept.pass_ms, turn.pass_ms);
        add(kept.prefill_ms, turn.prefill_ms);
        add(kept.token_ms, turn.token_ms);
        kept.blocks.back() = block;
    }

    std::optional<Passes> take_turn(std::size_t at, std::size_t workload, std::int64_t passes,
                                    const std::string& phase) {
        const auto& asked = settings_.workloads[workload];
        nlohmann::ordered_json message{{"type", "run"}, {"workload", workload}, {"tokens", asked.tokens}};
        message["steps"] = passes;  // the last: arms that are shell scripts find it there
        double wall_ms = 0.0;
        const auto line = arms_.request(at, message, phase, &wall_ms);
        if (!line) return std::nullopt;
        used_ms_ += wall_ms;
        auto turn = settings_.operation == Operation::generate ? generated(at, workload, passes, *line)
                                                               : forwarded(at, workload, passes, *line);
        if (!turn) return std::nullopt;
        turn->wall_ms = wall_ms;
        const auto of_what = std::to_string(passes) + (passes == 1 ? " pass" : " passes");
        if (!arms_.accounted(at, sum(turn->pass_ms), wall_ms, of_what)) return std::nullopt;
        return turn;
    }

    std::optional<Passes> generated(std::size_t at, std::size_t workload, std::int64_t passes,
                                    const std::string& line) {
        const auto& asked = settings_.workloads[workload];
        auto answer = arms_.taken<Generation>(
            at, read_generation(line, {passes, asked.batch, asked.tokens, settings_.vocabulary}));
        if (!answer) return std::nullopt;
        auto& kept = result_.arms[at].results[workload];
        if (!agreed(at, workload, answer->prompt_tokens)) return std::nullopt;
        kept.generated = std::move(answer->generated);
        kept.read_bytes = answer->read_bytes;
        kept.cache_bytes = answer->cache_bytes;
        kept.peak_memory_bytes = std::max(kept.peak_memory_bytes, answer->peak_memory_bytes);
        kept.executed = std::move(answer->executed);
        Passes turn{
            answer->step_ms, answer->prefill_ms, {}, answer->involuntary_switches, answer->others_share, 0.0};
        for (const auto& tokens : answer->token_ms)
            turn.token_ms.insert(turn.token_ms.end(), tokens.begin(), tokens.end());
        return turn;
    }

    std::optional<Passes> forwarded(std::size_t at, std::size_t workload, std::int64_t passes,
                                    const std::string& line) {
        auto answer = arms_.taken<Turn>(at, read_turn(line, passes));
        if (!answer) return std::nullopt;
        const auto wanted = settings_.workloads[workload].batch * passes;
        if (answer->samples != wanted) {
            arms_.end(at, ArmStatus::protocol_error,
                      "it reports " + std::to_string(answer->samples) + " samples; its passes are over " +
                          std::to_string(wanted));
            return std::nullopt;
        }
        if (!agreed(at, workload, answer->tokens / passes)) return std::nullopt;
        auto& kept = result_.arms[at].results[workload];
        kept.peak_memory_bytes = std::max(kept.peak_memory_bytes, answer->peak_memory_bytes);
        kept.executed = std::move(answer->executed);
        return Passes{answer->step_ms, {}, {}, answer->involuntary_switches, answer->others_share, 0.0};
    }

    // All arms read the same sequences: what one left out would make it faster.
    bool agreed(std::size_t at, std::size_t workload, std::int64_t tokens) {
        auto& kept = result_.arms[at].results[workload].prompt_tokens;
        kept = tokens;
        for (const auto& arm : result_.arms) {
            const auto theirs = arm.results[workload].prompt_tokens;
            if (!arm.ok() || tokens < 0 || theirs < 0 || theirs == tokens) continue;
            arms_.end(at, ArmStatus::protocol_error,
                      "it reports " + std::to_string(tokens) + " tokens of the sequences; " + arm.spec.name +
                          " has " + std::to_string(theirs));
            return false;
        }
        return true;
    }

    const InferenceSettings& settings_;
    bench::PhiloxStream random_;
    InferenceResult result_;
    ArmRequests arms_;
    std::vector<std::optional<Ready>> ready_;
    std::size_t drift_base_ = 0;  // the arm that drifts are from
    std::vector<WorkloadPlan> plans_;
    double used_ms_ = 0.0;  // for turns that were taken
};

}  // namespace

InferenceResult run_inference(std::vector<StartedArm> arms, const InferenceSettings& settings) {
    return Inference(std::move(arms), settings).run();
}

}  // namespace switchyard::compare
