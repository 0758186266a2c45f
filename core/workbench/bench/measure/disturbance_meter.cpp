#include "core/workbench/bench/measure/disturbance_meter.h"

#include <sys/resource.h>

namespace switchyard::bench {
namespace {

std::int64_t faults_so_far() {
    rusage usage{};
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_minflt + usage.ru_majflt : -1;
}

}  // namespace

DisturbanceMeter::DisturbanceMeter() : faults_(faults_so_far()), times_(processor_times()) {}

std::int64_t DisturbanceMeter::page_faults() const {
    const auto now = faults_so_far();
    return now < 0 || faults_ < 0 ? -1 : now - faults_;
}

double DisturbanceMeter::others_share() const {
    const auto now = processor_times();
    return times_ && now ? share_of_others(times_, now) : -1.0;
}

}  // namespace switchyard::bench
