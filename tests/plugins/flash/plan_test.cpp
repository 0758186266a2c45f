// Which tiles and tasks flash makes. The kernels visit what these functions say and nothing else
// (plugins/flash/tile_plan.h, backward_plan.h). To add a case: a mask, a sequence and the number of tiles,
// counted by hand; which pairs must be in them is worked out one by one below.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backward_plan.h"
#include "tile_plan.h"

#include <switchyard_test.h>

using namespace switchyard::flash;

namespace {

constexpr std::int64_t block = 512;

Sequence sequence(std::int64_t queries, std::int64_t keys, std::int64_t prefix = 0) {
    Sequence made;
    made.queries = queries;
    made.keys = keys;
    made.offset = keys - queries;
    made.prefix = prefix;
    return made;
}

// As the contract has it (<switchyard/interfaces/mask.h>).
bool sees(const MaskShape& mask, const Sequence& s, std::int64_t query, std::int64_t key) {
    const std::int64_t position = query + s.offset;
    const bool limited = (!mask.causal || key <= position) &&
                         (mask.window_left < 0 || key >= position - mask.window_left) &&
                         (mask.window_right < 0 || key <= position + mask.window_right);
    return key < s.keys && (limited || key < s.prefix);
}

struct Visit {
    std::int64_t first, rows;
    Tile tile;
};

std::vector<Visit> visits(const MaskShape& mask, const Sequence& s) {
    std::vector<Visit> all;
    for (std::int64_t first = 0; first < s.queries; first += tile_rows) {
        const std::int64_t rows = std::min(tile_rows, s.queries - first);
        for_each_seen_tile(mask, s, first, rows, {0, s.keys}, block, [&](const Tile& tile) {
            all.push_back({first, rows, tile});
        });
    }
    return all;
}

// Does any of these queries see any of the 64 columns from `begin` on?
bool group_is_seen(const MaskShape& mask, const Sequence& s, const Visit& visit, std::int64_t begin) {
    for (std::int64_t query = visit.first; query < visit.first + visit.rows; ++query)
        for (std::int64_t key = begin; key < std::min(begin + 64, visit.tile.end); ++key)
            if (sees(mask, s, query, key)) return true;
    return false;
}

// Pairs that a row of a tile would compute, by for_each_visible.
std::int64_t computed(const MaskShape& mask, const Sequence& s, const Visit& visit, std::int64_t query,
                      std::string& fault) {
    std::int64_t pairs = 0;
    for_each_visible(visible(mask, s, query), visit.tile.begin, visit.tile.end,
                     [&](std::int64_t key, std::int64_t count) {
                         for (std::int64_t k = key; k < key + count; ++k)
                             if (!sees(mask, s, query, k))
                                 fault = std::to_string(query) + " does not see " + std::to_string(k);
                         pairs += count;
                     });
    return pairs;
}

}  // namespace

TEST_CASE("tiles that no query sees are not visited, and each visible pair is in one") {
    struct Case {
        const char* name;
        MaskShape mask;
        Sequence sequence;
        std::size_t tiles;
    };
    // Queries go in blocks of 64, keys in blocks of 512.
    const Case cases[] = {
        {"all of it", {}, sequence(512, 512), 8},
        {"two blocks of keys", {}, sequence(128, 600), 4},
        {"causal: 8 of 1, 8 of 2, 8 of 3, 8 of 4", {true}, sequence(2048, 2048), 80},
        {"causal, last queries of a cache", {true}, sequence(64, 2048), 4},
        {"causal, more queries than keys: the first see nothing", {true}, sequence(192, 64), 1},
        {"window of 128 to both sides", {false, 128, 128}, sequence(2048, 2048), 44},
        {"causal window of 64", {true, 64, -1}, sequence(2048, 2048), 35},
        {"prefix of 20 seen from far away", {true, 64, -1}, sequence(2048, 2048, 20), 35 + 30},
        {"prefix that reaches the window", {true, 300, -1}, sequence(300, 300, 100), 5},
        {"prefix longer than all keys", {true}, sequence(64, 64, 1000), 1},
        {"no keys", {true}, sequence(70, 0), 0},
        {"no queries", {}, sequence(0, 70), 0},
        {"one of each", {true}, sequence(1, 1), 1},
    };
    for (const auto& [name, mask, s, tiles] : cases) {
        INFO(name);
        const auto all = visits(mask, s);
        CHECK(all.size() == tiles);
        std::string fault;
        std::map<std::int64_t, std::int64_t> pairs;
        for (const Visit& visit : all) {
            CHECK(visit.tile.begin % 64 == 0);
            CHECK(visit.tile.begin >= visit.tile.block);
            CHECK(visit.tile.end <= visit.tile.block + block);
            for (std::int64_t begin = visit.tile.begin; begin < visit.tile.end; begin += 64)
                if (!group_is_seen(mask, s, visit, begin)) fault = "columns from " + std::to_string(begin);
            for (std::int64_t query = visit.first; query < visit.first + visit.rows; ++query)
                pairs[query] += computed(mask, s, visit, query, fault);
        }
        CHECK(fault == "");
        for (std::int64_t query = 0; query < s.queries; ++query) {
            std::int64_t expected = 0;
            for (std::int64_t key = 0; key < s.keys; ++key) expected += sees(mask, s, query, key) ? 1 : 0;
            if (pairs[query] != expected) fault = "query " + std::to_string(query);
        }
        CHECK(fault == "");
    }
}

TEST_CASE("packed sequences cost their own tiles: 256 of a median of 40, not 256 of 512") {
    std::size_t packed = 0, padded = 0;
    for (std::int64_t i = 0; i < 256; ++i) {
        const std::int64_t length = i == 0 ? 512 : 20 + i % 41;
        packed += visits({}, sequence(length, length)).size();
        padded += visits({}, sequence(512, length)).size();
    }
    CHECK(packed == 255 + 8);
    CHECK(padded == 256 * 8);
}

TEST_CASE("parts of keys lie where lengths say, whatever the threads") {
    const std::vector<std::vector<Sequence>> calls = {
        {sequence(130, 1300)},
        {sequence(2048, 2048), sequence(2048, 2048)},
        {sequence(40, 40), sequence(0, 9), sequence(7, 0), sequence(5000, 5000)},
    };
    for (const auto& sequences : calls) {
        for (const std::int64_t kv_heads : {1, 12}) {
            const auto one = plan_backward(sequences, kv_heads, 1);
            CHECK_FALSE(one.split);
            for (const std::int64_t threads : {2, 7, 96}) {
                const auto plan = plan_backward(sequences, kv_heads, threads);
                CHECK(plan.part_size == one.part_size);
                CHECK(plan.part_size % backward_block == 0);
                std::set<std::vector<std::int64_t>> parts;
                std::size_t items = 0;
                for (const auto& task : plan.tasks) {
                    for (const auto& item : task) {
                        CHECK(item.last_part - item.first_part ==
                              (plan.split ? 1 : plan.parts(sequences[item.sequence])));
                        for (std::int64_t part = item.first_part; part < item.last_part; ++part, ++items)
                            parts.insert({item.sequence, item.kv_head, part});
                    }
                }
                std::int64_t expected = 0;
                for (const auto& s : sequences)
                    if (s.queries > 0 && s.keys > 0) expected += kv_heads * plan.parts(s);
                CHECK(items == static_cast<std::size_t>(expected));
                CHECK(parts.size() == items);
            }
        }
    }
    CHECK(plan_backward(calls[0], 1, 2).split);
    CHECK(plan_backward(calls[0], 1, 2).tasks.size() == 3);
    CHECK_FALSE(plan_backward(calls[1], 12, 2).split);
    CHECK(plan_backward(calls[1], 12, 96).split);
}

TEST_CASE("what adds to the same element of a bias is one task, in order") {
    const std::vector<Sequence> sequences(3, sequence(1300, 1300));
    const auto tasks = [&](SharedBias shared) {
        const auto plan = plan_backward(sequences, 4, 96, shared);
        std::vector<std::size_t> sizes;
        for (const auto& task : plan.tasks) sizes.push_back(task.size());
        return sizes;
    };
    CHECK(tasks({}).size() == 3 * 4 * 3);
    CHECK(tasks({true, false, false}) == std::vector<std::size_t>(4 * 3, 3));
    CHECK(tasks({false, true, false}) == std::vector<std::size_t>(3 * 3, 4));
    CHECK(tasks({true, true, false}) == std::vector<std::size_t>(3, 12));
    CHECK(tasks({false, false, true}) == std::vector<std::size_t>(12, 1));  // all keys at once
    CHECK(tasks({true, true, true}) == std::vector<std::size_t>(1, 12));
}
