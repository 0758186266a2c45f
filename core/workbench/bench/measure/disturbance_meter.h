// What disturbed a stretch of work, from when the meter is made: the kernel counts it.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <optional>

#include "core/workbench/bench/measure/other_work.h"

namespace switchyard::bench {

class DisturbanceMeter {
public:
    DisturbanceMeter();
    // Of this process, minor and major; -1: not known.
    std::int64_t page_faults() const;
    // Of the processors' time, 0 to 1, as share_of_others says; below 0: not known.
    double others_share() const;

private:
    std::int64_t faults_ = -1;
    std::optional<ProcessorTimes> times_;
};

}  // namespace switchyard::bench
