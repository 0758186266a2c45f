// Work that is cut into parts while it is done, for loops that all threads have to end together. Since 1.0.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <ATen/Parallel.h>

namespace switchyard {

// body(first, last) for parts of 0..total, on LibTorch's threads, each part for whoever is free: large ones
// at first, then ever smaller ones down to `least` (guided self-scheduling: Polychronopoulos and Kuck 1987,
// IEEE Transactions on Computers C-36). A thread that begins late or is interrupted leaves more to the
// others, so that none waits for it long at the end. Which parts there are differs from call to call:
// results must not depend on them.
template <class Body>
void over_dealt_parts(std::int64_t total, std::int64_t least, const Body& body) {
    least = std::max<std::int64_t>(least, 1);
    const auto threads = std::min<std::int64_t>(at::get_num_threads(), (total + least - 1) / least);
    std::atomic<std::int64_t> next{0};
    at::parallel_for(0, threads, 1, [&](std::int64_t begin, std::int64_t end) {
        if (begin == end) return;
        std::int64_t first = next.load();
        while (first < total) {
            const auto last = std::min(total, first + std::max(least, (total - first) / (2 * threads)));
            if (!next.compare_exchange_weak(first, last)) continue;
            body(first, last);
            first = next.load();
        }
    });
}

}  // namespace switchyard
