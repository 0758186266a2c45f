// Whether memory grows with each call: what is kept of one is lost after thousands.
#pragma once

#include <cstdint>
#include <functional>

namespace switchyard::conformance {

// Bytes that each call of `work` keeps, as the C library's allocator counts them; 0: none, or not known, as
// with a sanitizer. Calls it a few hundred times at most. Whatever is kept once - caches, tables, a first
// buffer - does not count: only what grows in each of several stretches of calls does.
std::int64_t growth_of(const std::function<void()>& work);

}  // namespace switchyard::conformance
