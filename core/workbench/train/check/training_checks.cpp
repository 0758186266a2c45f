#include "core/workbench/train/check/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "core/kernel/machine/cpu_allocator.h"

namespace switchyard::train {
namespace {

double step_on(CheckBench& bench, std::size_t index) {
    std::vector<Batch> one{bench.batches[index % bench.batches.size()]};
    return bench.trainer.step(one).loss;
}

double mean_loss(CheckBench& bench, std::size_t first, std::size_t count) {
    double sum = 0.0;
    for (std::size_t i = first; i < first + count; ++i) sum += step_on(bench, i);
    return sum / static_cast<double>(count);
}

}  // namespace

Diagnosis check_memory(CheckBench& bench) {
    Diagnosis result{"memory does not grow", Health::good, "", ""};
    for (int i = 0; i < 3; ++i) step_on(bench, 0);
    // A loader that works ahead may take memory at any time, once; what leaks does so each time.
    auto grown = std::numeric_limits<std::int64_t>::max();
    std::int64_t before = 0;
    for (int window = 0; window < 3 && grown > 0; ++window) {
        before = machine::cpu_memory_stats().live_bytes;
        for (int i = 0; i < 4; ++i) step_on(bench, 0);
        grown = std::min<std::int64_t>(grown, machine::cpu_memory_stats().live_bytes - before);
    }
    std::ostringstream text;
    text << "live tensor bytes change by " << grown << " over 4 equal steps (" << before / (1 << 20)
         << " MiB live)";
    result.finding = text.str();
    if (grown > 0) {
        result.health = Health::bad;
        result.advice =
            "something keeps tensors from step to step: look for a backend that caches by shape or address";
    }
    return result;
}

Diagnosis check_first_steps(CheckBench& bench) {
    Diagnosis result{"the loss of the first steps falls", Health::good, "", ""};
    const auto rounds = bench.batches.size();
    const double first = mean_loss(bench, 0, rounds);
    for (int i = 0; i < 3; ++i) mean_loss(bench, 0, rounds);
    const double last = mean_loss(bench, 0, rounds);
    std::ostringstream text;
    text << "mean over " << rounds << " batches: " << first << " at first, " << last << " after "
         << 4 * rounds << " steps";
    result.finding = text.str();
    if (!std::isfinite(last) || last > first) {
        result.health = Health::bad;
        result.advice =
            "try a tenth of optimizer.lr; if that does not help, check that labels belong to their texts";
    } else if (last > 0.98 * first) {
        result.health = Health::unclear;
        result.advice = "it hardly falls: try an optimizer.lr three times as large";
    }
    return result;
}

Diagnosis check_overfit(CheckBench& bench) {
    Diagnosis result{"one batch can be memorized", Health::good, "", ""};
    bench.trainer.set_dropout(false);
    const double first = step_on(bench, 0);
    double last = first;
    int steps = 1;
    for (; steps < 60 && last > 0.05 * first; ++steps) last = step_on(bench, 0);
    bench.trainer.set_dropout(true);
    std::ostringstream text;
    text << "loss " << first << " becomes " << last << " in " << steps << " steps without dropout";
    result.finding = text.str();
    if (!(last < 0.5 * first)) {
        result.health = Health::bad;
        result.advice =
            "a model that cannot do this cannot learn: check the labels, the loss and that optimizer.lr is "
            "not far too small or large";
    } else if (last > 0.05 * first) {
        result.health = Health::unclear;
        result.advice = "it learns, but slowly: try a larger optimizer.lr";
    }
    return result;
}

}  // namespace switchyard::train
