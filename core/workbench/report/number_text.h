// Numbers as a page shows them: with commas, and with exponents where they are far from 1.
#pragma once

#include <string>

#include "core/kernel/base/number_text.h"

namespace switchyard::report {

using base::bytes_text;
using base::Interval;

// "0.676", "12,561", "1.2e-7": that many significant digits, but never fewer than the whole number has.
std::string page_number(double value, int significant = 3);

// "124 [122, 128]".
std::string page_interval(const Interval& interval, int significant = 3);

// A ratio, of which the ends of a wide interval may be far from 1: "1.02 [1.2e-7, 3.4e7]".
std::string page_ratio(double value);
std::string page_ratio(const Interval& interval);

// "1.20e+04" as "1.2e4".
std::string short_scientific(double value, int significant);

// "3 min 12 s", "41 s", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace switchyard::report
