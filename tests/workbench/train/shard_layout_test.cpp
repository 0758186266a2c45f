// Who keeps the state of which values: each value one rank, in equal parts, cut only where cuts may be.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "core/workbench/train/shard_layout.h"

#include <switchyard_test.h>

using namespace switchyard::train;

namespace {

using Sizes = std::vector<std::int64_t>;

std::vector<std::int64_t> values_by_rank(const std::vector<Shard>& shards, std::int64_t ranks) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(ranks));
    for (const auto& shard : shards) values[static_cast<std::size_t>(shard.rank)] += shard.count;
    return values;
}

void check_layout(const Sizes& sizes, std::int64_t ranks, std::int64_t alignment) {
    const auto shards = divide_over_ranks(sizes, ranks, alignment);
    std::vector<std::int64_t> covered(sizes.size());
    std::int64_t rank = 0;
    for (const auto& shard : shards) {
        CHECK(shard.begin == covered[shard.parameter]);
        CHECK(shard.count > 0);
        covered[shard.parameter] += shard.count;
        CHECK(shard.rank < ranks);
        if (alignment == 0) {
            CHECK(shard.count == sizes[shard.parameter]);
            continue;
        }
        CHECK(shard.begin % alignment == 0);
        CHECK(shard.rank >= rank);
        rank = shard.rank;
    }
    CHECK(covered == sizes);
}

void check_shards(const Sizes& sizes, std::int64_t ranks, std::int64_t alignment,
                  const std::vector<Shard>& expected) {
    const bool same = divide_over_ranks(sizes, ranks, alignment) == expected;
    CHECK(same);
}

}  // namespace

TEST_CASE("values end to end are cut in equal parts") {
    check_shards({100, 28}, 2, 64, {{0, 0, 64, 0}, {0, 64, 36, 1}, {1, 0, 28, 1}});
    check_shards({10, 10}, 2, 1, {{0, 0, 10, 0}, {1, 0, 10, 1}});
    check_shards({9}, 3, 1, {{0, 0, 3, 0}, {0, 3, 3, 1}, {0, 6, 3, 2}});
    check_shards({5}, 2, 64, {{0, 0, 5, 1}});
}

TEST_CASE("what cannot be cut goes to the rank with the least, the largest first") {
    check_shards({3, 10, 4, 4}, 2, 0, {{0, 0, 3, 1}, {1, 0, 10, 0}, {2, 0, 4, 1}, {3, 0, 4, 1}});
}

TEST_CASE("drawn parameters are covered once, in parts that differ by less than a cut may be off") {
    std::mt19937 random(11);
    for (int i = 0; i < 500; ++i) {
        Sizes sizes(1 + random() % 12);
        for (auto& size : sizes) size = 1 + static_cast<std::int64_t>(random() % 3000);
        const auto ranks = 1 + static_cast<std::int64_t>(random() % 5);
        const std::int64_t alignments[] = {0, 1, 64, 256};
        const auto alignment = alignments[random() % 4];
        INFO("case " << i);
        check_layout(sizes, ranks, alignment);
        if (alignment == 0) continue;
        const auto values = values_by_rank(divide_over_ranks(sizes, ranks, alignment), ranks);
        const auto [least, most] = std::ranges::minmax(values);
        CHECK(most - least <= 2 * alignment + 1);
    }
}
