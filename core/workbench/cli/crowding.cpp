#include "core/workbench/cli/crowding.h"

#include <cmath>

namespace switchyard::cli {
namespace {

constexpr auto span = std::chrono::seconds(10);
constexpr double crowded_share = 0.25;
constexpr double interruptions_a_second = 10.0;

}  // namespace

std::string crowding_warning(const Crowding& crowding, int threads) {
    const double rate = static_cast<double>(crowding.interruptions) / std::max(crowding.seconds, 1e-9);
    if (crowding.share_of_others <= crowded_share || rate <= interruptions_a_second) return "";
    return "warning: other programs take " + std::to_string(std::lround(100.0 * crowding.share_of_others)) +
           " % of the processors, and the threads of this one are interrupted " +
           std::to_string(std::lround(rate)) + " times a second: its speed is not that of the machine" +
           (threads > 1 ? "; fewer threads (runtime.threads) may be as fast\n" : "\n");
}

std::optional<bench::ProcessorTimes> times_of_ranks(std::optional<bench::ProcessorTimes> times,
                                                    std::int64_t ranks) {
    if (times) times->own *= static_cast<double>(ranks);
    return times;
}

std::string CrowdingWatch::look() {
    const auto now = Clock::now();
    if (told_ || now - since_ < span) return "";
    const auto times = times_of_ranks(bench::processor_times(), ranks_);
    const auto interruptions = stopwatch_.involuntary_switches();
    const auto warning =
        crowding_warning({std::chrono::duration<double>(now - since_).count(),
                          bench::share_of_others(times_, times), interruptions - interruptions_},
                         threads_);
    told_ = !warning.empty();
    since_ = now;
    times_ = times;
    interruptions_ = interruptions;
    return warning;
}

}  // namespace switchyard::cli
