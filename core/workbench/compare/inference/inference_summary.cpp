#include <algorithm>
#include <cmath>

#include "core/workbench/compare/arms/generated_turn.h"
#include "core/workbench/compare/inference/inference_result.h"

namespace switchyard::compare {
namespace {

using Values = std::vector<double>;

bool counts(const std::optional<InferenceBlock>& block) { return block && !block->repeated; }

// `of_block`: the medians within blocks, which the interval is over.
Latency latency(const Values& all, const Values& of_block, std::uint64_t seed) {
    Latency made;
    made.count = all.size();
    if (all.empty()) return made;
    made.ms = bench::median_interval(of_block, {.seed = seed});
    made.ms.median = bench::median(all);
    made.p95 = bench::quantile(all, 0.95);
    made.p99 = bench::quantile(all, 0.99);
    return made;
}

template <class Pick>
Values of_blocks(const WorkloadResult& result, const Pick& pick) {
    Values values;
    for (const auto& block : result.blocks) {
        if (counts(block) && !block->sample.outlier && std::isfinite(pick(*block)))
            values.push_back(pick(*block));
    }
    return values;
}

double prefill_of(const InferenceBlock& block) { return block.prefill_ms; }
double token_of(const InferenceBlock& block) { return block.token_ms; }

void mark_outlier_blocks(WorkloadResult& result) {
    std::vector<bench::TimedSample> samples;
    for (const auto& block : result.blocks) {
        if (counts(block)) samples.push_back(block->sample);
    }
    bench::mark_outliers(samples);
    std::size_t next = 0;
    for (auto& block : result.blocks) {
        if (counts(block)) block->sample.outlier = samples[next++].outlier;
    }
    result.outliers = static_cast<int>(
        std::count_if(samples.begin(), samples.end(), [](const auto& sample) { return sample.outlier; }));
}

// Of the cache a token reads, on average, what the tokens before it left there. The cache has room for the
// longest row; the rows have prompts of the mean length that the arm tells, else of the longest.
double cache_read(const Workload& workload, const WorkloadResult& result) {
    const double prompt = result.prompt_tokens < 0 ? static_cast<double>(workload.lengths.max)
                                                   : static_cast<double>(result.prompt_tokens) /
                                                         static_cast<double>(workload.batch);
    const double filled = prompt + static_cast<double>(workload.tokens) / 2.0;
    return static_cast<double>(std::max<std::int64_t>(0, result.cache_bytes)) * filled /
           static_cast<double>(workload.longest());
}

void fill_rates(WorkloadResult& result, const Workload& workload, const ArmOutcome& arm,
                const bench::Peaks& peaks) {
    const double rows = static_cast<double>(workload.batch), pass_s = result.pass.ms.median / 1e3;
    const double token_s = result.next_token.ms.median / 1e3;
    result.samples_per_second = rows / pass_s;
    if (workload.tokens == 0) {
        if (result.prompt_tokens >= 0)
            result.tokens_per_second = static_cast<double>(result.prompt_tokens) / pass_s;
        return;
    }
    result.tokens_per_second = rows * static_cast<double>(workload.tokens) / pass_s;
    result.decode_tokens_per_second = rows / token_s;
    if (result.prompt_tokens >= 0)
        result.prefill_tokens_per_second =
            static_cast<double>(result.prompt_tokens) / (result.first_token.ms.median / 1e3);
    if (result.read_bytes < 0 || !arm.spec.cached || !std::isfinite(token_s)) return;
    const double bytes = static_cast<double>(result.read_bytes) + cache_read(workload, result);
    result.read_gbytes_per_second = bytes / token_s / 1e9;
    if (peaks.read_gbytes_per_second > 0.0)
        result.read_share = result.read_gbytes_per_second / peaks.read_gbytes_per_second;
}

void summarise(WorkloadResult& result, const Workload& workload, const ArmOutcome& arm,
               const InferenceResult& all) {
    mark_outlier_blocks(result);
    result.pass = latency(result.pass_ms, of_blocks(result, pass_of), all.seed);
    if (!result.by_coordinator) {  // else its times of tokens say as little as those of its passes
        result.first_token = latency(result.prefill_ms, of_blocks(result, prefill_of), all.seed);
        result.next_token = latency(result.token_ms, of_blocks(result, token_of), all.seed);
    }
    if (result.pass.known()) fill_rates(result, workload, arm, all.peaks);
}

double judged_of(const InferenceBlock& block, bool by_token) {
    return by_token ? block.token_ms : block.sample.ms;
}

template <class Pick>
bench::RatioEstimate ratio(const WorkloadResult& base, const WorkloadResult& arm, const Pick& pick) {
    return estimate(block_costs(base, pick), block_costs(arm, pick));
}

bool judged_by_token(const InferenceResult& all, const InferencePair& pair) {
    return all.workloads[pair.workload].tokens > 1 &&
           !all.arms[pair.base].results[pair.workload].by_coordinator &&
           !all.arms[pair.arm].results[pair.workload].by_coordinator;
}

// Of what is shown of both: medians of all that was timed, where the verdict is of blocks one by one.
double ratio_of_medians(const InferenceResult& all, const InferencePair& pair) {
    const auto shown = [&](std::size_t arm) {
        const auto& result = all.arms[arm].results[pair.workload];
        return (judged_by_token(all, pair) ? result.next_token : result.pass).ms.median;
    };
    return shown(pair.base) / shown(pair.arm);
}

// Of one workload, as far as it can be said before all comparisons are known.
bench::RatioEstimate compare_pair(const InferenceResult& all, InferencePair& pair) {
    const auto& theirs = all.arms[pair.base].results[pair.workload];
    const auto& ours = all.arms[pair.arm].results[pair.workload];
    const auto tokens = all.workloads[pair.workload].tokens;
    const bool from_outside = theirs.by_coordinator || ours.by_coordinator;
    const bool by_token = judged_by_token(all, pair);
    const auto pick = [&](const InferenceBlock& block) { return judged_of(block, by_token); };
    const auto of_base = block_costs(theirs, pick), of_arm = block_costs(ours, pick);
    const auto made = estimate(of_base, of_arm);
    static_cast<JudgedSpeed&>(pair) = judged_alone(made, of_base, of_arm);
    pair.pass = by_token ? ratio(theirs, ours, pass_of).ratio : pair.speedup;
    if (tokens > 0 && !from_outside) pair.prefill = ratio(theirs, ours, prefill_of).ratio;
    if (by_token) pair.decode = pair.speedup;
    return made;
}

void mark_wrong(InferenceResult& result) {
    for (auto& pair : result.pairs) {
        Drift drift, allowed;
        drift.output = result.arms[pair.arm].drift;
        allowed.output = result.arms[pair.arm].allowed;
        if (const auto far = too_far(drift, allowed); !far.empty()) {
            pair.verdict = bench::SpeedVerdict::wrong;
            pair.reason = far;
        }
    }
}

}  // namespace

bool InferenceResult::forced() const {
    return std::any_of(arms.begin(), arms.end(), [](const auto& arm) { return !arm.spec.differs.empty(); });
}

std::size_t InferenceResult::base() const {
    const auto found = std::find_if(arms.begin(), arms.end(), [](const auto& arm) { return arm.ok(); });
    return static_cast<std::size_t>(found - arms.begin());
}

double InferenceResult::most_of_others() const {
    double most = -1.0;
    for (const auto& arm : arms) {
        for (const auto& of_workload : arm.results) {
            for (const auto& block : of_workload.blocks) {
                if (counts(block)) most = std::max(most, block->others_share);
            }
        }
    }
    return most;
}

int InferenceResult::exit_code() const {
    if (stopped || std::any_of(arms.begin(), arms.end(), [](const auto& arm) { return !arm.ok(); })) return 1;
    const bool wrong = std::any_of(pairs.begin(), pairs.end(), [](const auto& pair) {
        return pair.verdict == bench::SpeedVerdict::wrong;
    });
    return wrong ? 5 : 0;
}

void summarise_inference(InferenceResult& result, double margin) {
    for (auto& arm : result.arms) {
        for (std::size_t i = 0; i < arm.results.size(); ++i)
            summarise(arm.results[i], result.workloads[i], arm, result);
    }
    const auto base = result.base();
    std::vector<bench::RatioEstimate> estimates;
    for (std::size_t workload = 0; workload < result.workloads.size(); ++workload) {
        for (std::size_t at = base + 1; at < result.arms.size(); ++at) {
            auto& arm = result.arms[at];
            if (!arm.ok() || !arm.results[workload].pass.known()) continue;
            arm.results[workload].same_tokens =
                same_tokens(arm.results[workload].generated, result.arms[base].results[workload].generated);
            auto& pair = result.pairs.emplace_back();
            pair.workload = workload;
            pair.base = base;
            pair.arm = at;
            estimates.push_back(compare_pair(result, pair));
        }
    }
    std::vector<Concluded> comparisons;
    for (std::size_t i = 0; i < estimates.size(); ++i)
        comparisons.push_back({&result.pairs[i], estimates[i]});
    conclude(comparisons, margin);
    for (auto& pair : result.pairs) weigh_medians(pair, ratio_of_medians(result, pair), margin);
    mark_wrong(result);
}

}  // namespace switchyard::compare
