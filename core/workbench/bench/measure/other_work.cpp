#include "core/workbench/bench/measure/other_work.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace switchyard::bench {
namespace {

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

std::optional<ProcessorTimes> read_processor_times(const std::string& stat, double own_seconds,
                                                   double ticks) {
    std::istringstream text(stat);
    std::string name;
    double user = 0.0, nice = 0.0, system = 0.0, idle = 0.0, waiting = 0.0;
    if (!(text >> name >> user >> nice >> system >> idle >> waiting) || name != "cpu") return std::nullopt;
    double interrupts = 0.0, soft_interrupts = 0.0, stolen = 0.0;
    text >> interrupts >> soft_interrupts >> stolen;  // old kernels have fewer
    return ProcessorTimes{(user + nice + system + interrupts + soft_interrupts + stolen) / ticks,
                          (idle + waiting) / ticks, own_seconds};
}

std::optional<ProcessorTimes> processor_times() {
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) != 0) return std::nullopt;
    std::ifstream file("/proc/stat");
    std::string line;
    std::getline(file, line);
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    auto times = read_processor_times(line, seconds(usage.ru_utime) + seconds(usage.ru_stime), ticks);
    if (times) times->inexact = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)) / ticks;
    return times;
}

double share_of_others(const std::optional<ProcessorTimes>& from, const std::optional<ProcessorTimes>& to) {
    if (!from || !to) return 0.0;
    const double busy = to->busy - from->busy, idle = to->idle - from->idle, own = to->own - from->own;
    const double all = busy + idle;
    if (all < 0.1 || idle >= 0.25 * all) return 0.0;
    return std::clamp((busy - own - to->inexact) / all, 0.0, 1.0);
}

}  // namespace switchyard::bench
