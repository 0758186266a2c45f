// Numbers as people read them.
#pragma once

#include <string>

#include "core/kernel/base/interval.h"

namespace switchyard::base {

// "41.2", "0.0123", "12561": that many significant digits, but never fewer than the whole number has, and
// never an exponent; "-" for what is not finite.
std::string digits(double value, int significant = 3);

// "4.1e-7", "0"; "-" for what is not finite.
std::string scientific(double value, int significant = 2);

// "124 [122, 128]".
std::string interval_text(const Interval& interval, int significant = 3);

// "312 B", "48.0 MB": powers of 1000.
std::string bytes_text(double bytes);

// "1 plugin", "3 plugins".
std::string counted(std::size_t count, const std::string& what);

// How many decimals show that many significant digits of a finite value; none where its whole part has more.
int decimals_of(double value, int significant);
// With that many decimals.
std::string fixed(double value, int decimals);

}  // namespace switchyard::base
