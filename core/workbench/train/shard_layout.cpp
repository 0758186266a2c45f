#include "core/workbench/train/shard_layout.h"

#include <algorithm>
#include <numeric>

namespace switchyard::train {
namespace {

std::vector<Shard> whole_parameters(const std::vector<std::int64_t>& sizes, std::int64_t ranks) {
    std::vector<std::size_t> largest_first(sizes.size());
    std::iota(largest_first.begin(), largest_first.end(), std::size_t{0});
    std::ranges::stable_sort(largest_first,
                             [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
    std::vector<std::int64_t> filled(static_cast<std::size_t>(ranks));
    std::vector<Shard> shards(sizes.size());
    for (const auto parameter : largest_first) {
        const auto least = std::ranges::min_element(filled);
        *least += sizes[parameter];
        shards[parameter] = {parameter, 0, sizes[parameter], least - filled.begin()};
    }
    return shards;
}

}  // namespace

std::vector<Shard> divide_over_ranks(const std::vector<std::int64_t>& sizes, std::int64_t ranks,
                                     std::int64_t alignment) {
    if (alignment == 0) return whole_parameters(sizes, ranks);
    const auto all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    std::vector<Shard> shards;
    std::int64_t before = 0;  // values of the parameters before this one
    std::int64_t rank = 0;
    for (std::size_t parameter = 0; parameter < sizes.size(); ++parameter) {
        std::int64_t begin = 0;
        while (begin < sizes[parameter]) {
            // Where this rank's stretch ends in this parameter, at the nearest place where it may.
            const auto exact = all * (rank + 1) / ranks - before;
            const auto aligned = (exact + alignment / 2) / alignment * alignment;
            const auto end = rank + 1 == ranks ? sizes[parameter] : std::min(aligned, sizes[parameter]);
            if (end > begin) shards.push_back({parameter, begin, end - begin, rank});
            begin = std::max(begin, end);
            if (begin < sizes[parameter] || exact <= sizes[parameter]) rank = std::min(rank + 1, ranks - 1);
        }
        before += sizes[parameter];
    }
    return shards;
}

}  // namespace switchyard::train
