#include "core/workbench/compare/arms/step_counts.h"

namespace switchyard::compare {

std::string wrong_counts(const std::vector<StepCounts>& shared, std::int64_t first, std::int64_t steps,
                         std::int64_t samples, std::int64_t tokens) {
    if (shared.empty()) return "";
    StepCounts all;
    for (std::int64_t step = first; step < first + steps; ++step) {
        const auto& one = shared[static_cast<std::size_t>(step) % shared.size()];
        all.samples += one.samples;
        all.tokens += one.tokens;
    }
    const auto reports = [&](std::int64_t count, const char* what) {
        return "it reports " + std::to_string(count) + " " + what + " for " + std::to_string(steps) +
               (steps == 1 ? " step" : " steps") + "; the shared batches have ";
    };
    if (samples != all.samples) return reports(samples, "samples") + std::to_string(all.samples);
    if (tokens > all.tokens)
        return reports(tokens, "tokens") + std::to_string(all.tokens) + ", padding included";
    return "";
}

}  // namespace switchyard::compare
