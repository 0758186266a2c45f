// A median and the ends of its interval.
#pragma once

namespace switchyard::base {

struct Interval {
    double median = 0.0;
    double low = 0.0;
    double high = 0.0;

    bool operator==(const Interval&) const = default;
};

}  // namespace switchyard::base
