#include "core/workbench/scale/step_timeline.h"

#include <algorithm>
#include <numeric>

namespace switchyard::scale {

double StepCosts::all_ms() const {
    return std::accumulate(backward_ms.begin(), backward_ms.end(), forward_ms + optimizer_ms);
}

double share_of_times(double part_ms, double all_ms) {
    const double share = std::clamp(part_ms / all_ms, 0.0, 1.0);
    return share < 1e-9 ? 0.0 : share;
}

double StepTimeline::hidden_share() const {
    return communication_ms > 0.0 ? share_of_times(communication_ms - exposed_ms, communication_ms) : 1.0;
}

StepTimeline simulate_step(const StepCosts& costs, const std::vector<Bucket>& buckets, std::int64_t ranks,
                           const Collectives& collectives, double wire_share) {
    StepTimeline line;
    line.ranks = ranks;
    line.forward_end_ms = costs.forward_ms;
    double now = costs.forward_ms, free = 0.0;  // free: when the last sum so far ends
    std::size_t next = costs.backward_ms.size();
    for (const auto& bucket : buckets) {
        while (next > bucket.first) now += costs.backward_ms[--next];
        BucketTimes times{bucket, now, std::max(now, free), 0.0};
        const double sum_ms =
            all_reduce_ms(static_cast<double>(bucket.bytes) * wire_share, ranks, collectives);
        times.end_ms = times.begin_ms + sum_ms;
        free = times.end_ms;
        line.communication_ms += sum_ms;
        line.buckets.push_back(times);
    }
    while (next > 0) now += costs.backward_ms[--next];
    line.backward_end_ms = now;
    line.exposed_ms = std::max(0.0, free - now);
    const bool divided = costs.gathered_bytes > 0.0;
    if (divided) line.gather_ms = all_gather_ms(costs.gathered_bytes, ranks, collectives);
    line.step_ms = now + line.exposed_ms + costs.optimizer_ms / (divided ? static_cast<double>(ranks) : 1.0) +
                   line.gather_ms;
    line.waits_ms = costs.waits_ms;
    line.efficiency = line.step_ms > 0.0 ? (costs.all_ms() - costs.waits_ms) / line.step_ms : 1.0;
    return line;
}

}  // namespace switchyard::scale
