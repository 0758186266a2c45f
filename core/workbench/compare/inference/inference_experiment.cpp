#include "core/workbench/compare/inference/inference_experiment.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/workbench/bench/measure/philox_stream.h"

namespace switchyard::compare {
namespace {

constexpr std::int64_t most_passes = 200;  // of one block

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// What came of a turn, whichever the operation.
struct Passes {
    std::vector<double> pass_ms, prefill_ms, token_ms;
    std::int64_t involuntary_switches = -1;
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
        sample_machine();
        for (std::size_t workload = 0; workload < settings_.workloads.size() && arms_.going(); ++workload) {
            run_workload(workload);
            sample_machine();
        }
        arms_.quit();
        result_.stopped = arms_.stopped();
        result_.elapsed_ms = arms_.elapsed_ms();
        if (settings_.peaks) result_.peaks = settings_.peaks();
        summarise_inference(result_, settings_.margin);
        return std::move(result_);
    }

private:
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

    void prepare_all() {
        ready_.resize(arms_.size());
        prepare(settings_.reference_arm);
        for (std::size_t at = 0; at < arms_.size() && !arms_.stopped(); ++at) {
            if (at == settings_.reference_arm || !result_.arms[at].ok()) continue;
            if (result_.arms[at].spec.external() && !result_.arms[settings_.reference_arm].ok())
                arms_.end(at, ArmStatus::failed,
                          "was not run: it loads weights and sequences of " +
                              result_.arms[settings_.reference_arm].spec.name + ", which failed");
            else
                prepare(at);
        }
    }

    void prepare(std::size_t at) {
        auto& arm = result_.arms[at];
        if (!arm.ok()) return;
        tell(arm.spec.name + ": prepares");
        ready_[at] = arms_.prepared(at, settings_.prepare(at), settings_.operation);
        if (!ready_[at]) return;
        arm.weight_bytes = ready_[at]->weight_bytes;
        arm.reduced = ready_[at]->reduced;
    }

    // Against the first arm that works.
    void measure_drift() {
        const auto base = result_.base();
        const auto& from =
            settings_.reference_arm < ready_.size() ? ready_[settings_.reference_arm] : ready_[0];
        for (std::size_t at = base + 1; at < arms_.size(); ++at) {
            auto& arm = result_.arms[at];
            if (!arm.ok() || !arm.spec.differs.empty()) continue;
            if (settings_.drift && ready_[at]->first_step_written && ready_[base]->first_step_written)
                arm.drift = settings_.drift(at, base);
            const bool bounded = !arm.reduced && !result_.arms[base].reduced && from && from->amplification;
            if (bounded)
                arm.allowed = allowed_drift(*from->amplification, result_.arms[base].dtype, arm.dtype).output;
        }
    }

    void run_workload(std::size_t workload) {
        const double began_ms = used_ms_;
        std::vector<double> pass_ms(arms_.size(), 0.0);
        for (int pass = 0; pass < 2; ++pass) {
            for (std::size_t at = 0; at < arms_.size() && !arms_.stopped(); ++at) {
                if (!result_.arms[at].ok()) continue;
                tell(where(workload) + result_.arms[at].spec.name + " warms up");
                if (const auto turn = take_turn(at, workload, 1, "while it warmed up"))
                    pass_ms[at] = turn->wall_ms;
            }
        }
        double fastest = 1e300, round = 0.0;
        for (std::size_t at = 0; at < arms_.size(); ++at) {
            if (!result_.arms[at].ok()) continue;
            fastest = std::min(fastest, std::max(pass_ms[at], 1e-3));
            round += pass_ms[at];
        }
        if (!arms_.going()) return;
        const auto passes = std::clamp(static_cast<std::int64_t>(std::ceil(settings_.min_turn_ms / fastest)),
                                       std::int64_t{1}, most_passes);
        const double of_each = settings_.time_ms / static_cast<double>(settings_.workloads.size());
        const double block_ms = std::max(round * static_cast<double>(passes), 1e-3);
        const double fitting = std::floor((of_each - (used_ms_ - began_ms)) / block_ms);
        const int blocks =
            settings_.blocks > 0
                ? settings_.blocks
                : static_cast<int>(std::clamp<double>(fitting, settings_.min_blocks, settings_.max_blocks));
        result_.passes_per_block[workload] = passes;
        for (int block = 0; block < blocks && arms_.going(); ++block) {
            tell(where(workload) + "block " + std::to_string(block + 1) + " of " + std::to_string(blocks),
                 static_cast<double>(block) / blocks, block_ms * (blocks - block));
            run_block(workload, passes);
        }
    }

    std::string where(std::size_t workload) const {
        return settings_.workloads[workload].text() + " (" + std::to_string(workload + 1) + " of " +
               std::to_string(settings_.workloads.size()) + "): ";
    }

    void run_block(std::size_t workload, std::int64_t passes) {
        std::vector<std::size_t> order(arms_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        random_.shuffle(order);
        for (auto& arm : result_.arms) arm.results[workload].blocks.emplace_back();
        int position = 0;
        for (const std::size_t at : order) {
            if (!result_.arms[at].ok() || arms_.stopped()) continue;
            const auto turn =
                take_turn(at, workload, passes,
                          "in " + where(workload) + "block " + std::to_string(result_.blocks[workload] + 1));
            if (turn) keep(at, workload, *turn, position++);
        }
        if (!arms_.stopped()) ++result_.blocks[workload];
    }

    void keep(std::size_t at, std::size_t workload, const Passes& turn, int position) {
        auto& kept = result_.arms[at].results[workload];
        const double claimed = sum(turn.pass_ms), count = static_cast<double>(turn.pass_ms.size());
        // Its clock is used if the times it reports fill its turns.
        const bool outside = turn.wall_ms - claimed > 5.0 && claimed < 0.8 * turn.wall_ms;
        kept.by_coordinator = kept.by_coordinator || outside;
        InferenceBlock block;
        block.wall_ms = turn.wall_ms;
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
        Passes turn{answer->step_ms, answer->prefill_ms, {}, answer->involuntary_switches, 0.0};
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
        return Passes{answer->step_ms, {}, {}, answer->involuntary_switches, 0.0};
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
    double used_ms_ = 0.0;  // for turns that were taken
};

}  // namespace

InferenceResult run_inference(std::vector<StartedArm> arms, const InferenceSettings& settings) {
    return Inference(std::move(arms), settings).run();
}

}  // namespace switchyard::compare
