// The order of an epoch. The pinned orders were computed by an implementation of Philox4x32-10 and
// Durstenfeld's shuffle written in Python from their papers; they must never change: a checkpoint holds seed,
// epoch and batch, and means the samples that these give.
// To add a case: parameters, and a property that every order must have, or an order computed elsewhere.
#include <switchyard/reference/epoch_order.h>

#include <algorithm>
#include <numeric>
#include <set>

#include <switchyard_test.h>

using namespace switchyard;
using reference::batch_samples;
using reference::epoch_batches;
using reference::epoch_order;
using reference::repeated_samples;

namespace {

using Numbers = std::vector<std::int64_t>;

LoaderParams params_of(std::uint64_t seed, std::int64_t world_size = 1, bool drop_last = false) {
    LoaderParams params;
    params.seed = seed;
    params.world_size = world_size;
    params.drop_last = drop_last;
    return params;
}

Numbers counted(std::int64_t size) {
    Numbers numbers(static_cast<std::size_t>(size));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

Numbers sorted(Numbers numbers) {
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

// The samples of all ranks, rank after rank.
std::vector<Numbers> orders_of_ranks(std::int64_t size, LoaderParams params, std::int64_t epoch) {
    std::vector<Numbers> orders;
    for (params.rank = 0; params.rank < params.world_size; ++params.rank)
        orders.push_back(epoch_order(size, params, epoch));
    return orders;
}

}  // namespace

TEST_CASE("the order of an epoch is the one that every earlier version had") {
    CHECK(epoch_order(10, params_of(0), 0) == Numbers{4, 2, 6, 9, 3, 7, 8, 0, 5, 1});
    CHECK(epoch_order(10, params_of(0), 1) == Numbers{9, 8, 7, 2, 5, 1, 0, 3, 4, 6});
    CHECK(epoch_order(10, params_of(1), 0) == Numbers{4, 2, 5, 9, 7, 1, 0, 3, 8, 6});
    CHECK(epoch_order(16, params_of(42), 3) == Numbers{11, 4, 6, 2, 12, 9, 13, 5, 0, 14, 10, 7, 8, 3, 1, 15});
    const Numbers large = epoch_order(1000, params_of(7), 5);
    CHECK(Numbers(large.begin(), large.begin() + 8) == Numbers{221, 733, 834, 400, 82, 931, 742, 558});
    CHECK(Numbers(large.end() - 8, large.end()) == Numbers{65, 236, 124, 989, 49, 323, 607, 134});
}

TEST_CASE("all 64 bits of seed and epoch count") {
    const auto seed = (std::uint64_t{1} << 40) + 5;
    const auto epoch = (std::int64_t{1} << 33) + 2;
    CHECK(epoch_order(12, params_of(seed), epoch) == Numbers{3, 0, 1, 5, 4, 2, 9, 6, 8, 7, 10, 11});
    CHECK(epoch_order(12, params_of(5), epoch) != epoch_order(12, params_of(seed), epoch));
    CHECK(epoch_order(12, params_of(seed), 2) != epoch_order(12, params_of(seed), epoch));
}

TEST_CASE("an order visits every sample once") {
    for (const std::int64_t size : {0, 1, 2, 3, 64, 1001}) {
        for (const std::int64_t epoch : {0, 1, 77})
            CHECK(sorted(epoch_order(size, params_of(3), epoch)) == counted(size));
    }
}

TEST_CASE("an order is a function of seed and epoch alone") {
    LoaderParams other = params_of(9);
    other.batch_size = 17;
    other.max_length = 3;
    other.pad_id = 5;
    other.layout = Layout::packed;
    other.drop_last = true;  // of one rank: what is left out is a matter of batches
    CHECK(epoch_order(50, other, 4) == epoch_order(50, params_of(9), 4));
    std::set<Numbers> different;
    for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
        for (const std::uint64_t seed : {9, 10}) different.insert(epoch_order(50, params_of(seed), epoch));
    }
    CHECK(different.size() == 16);
}

TEST_CASE("every sample comes first about equally often") {
    std::vector<int> times(8, 0);
    for (std::int64_t epoch = 0; epoch < 4000; ++epoch) ++times[epoch_order(8, params_of(1), epoch)[0]];
    for (const int count : times) {
        CHECK(count > 400);  // 500 expected, with a standard deviation of 21
        CHECK(count < 600);
    }
}

TEST_CASE("without shuffling an order counts up, in every epoch") {
    LoaderParams params = params_of(9);
    params.shuffle = false;
    CHECK(epoch_order(7, params, 0) == counted(7));
    CHECK(epoch_order(7, params, 3) == counted(7));
}

TEST_CASE("ranks take places in turn, and the first places fill up the last round") {
    const Numbers all = epoch_order(10, params_of(1), 0);
    const auto ranks = orders_of_ranks(10, params_of(1, 4), 0);
    CHECK(ranks[0] == Numbers{all[0], all[4], all[8]});
    CHECK(ranks[1] == Numbers{all[1], all[5], all[9]});
    CHECK(ranks[2] == Numbers{all[2], all[6], all[0]});
    CHECK(ranks[3] == Numbers{all[3], all[7], all[1]});
}

TEST_CASE("the batches of all ranks are one process's batches, cut into parts that follow each other") {
    for (const std::int64_t size : {24, 23, 19, 13, 2}) {
        for (const bool drop_last : {false, true}) {
            INFO(size << " samples" << (drop_last ? ", the last dropped" : ""));
            LoaderParams one = params_of(5, 1, drop_last), ranks = params_of(5, 3, drop_last);
            one.batch_size = 6;
            ranks.batch_size = 2;
            const Numbers all = epoch_order(size, one, 1);
            REQUIRE(epoch_batches(size, ranks) == epoch_batches(size, one));
            const auto orders = orders_of_ranks(size, ranks, 1);
            for (std::int64_t batch = 0; batch < epoch_batches(size, one); ++batch) {
                Numbers together;
                std::size_t longest = 0, shortest = 2;
                for (ranks.rank = 0; ranks.rank < 3; ++ranks.rank) {
                    const auto own =
                        batch_samples(orders[static_cast<std::size_t>(ranks.rank)], ranks, batch);
                    const auto repeated = repeated_samples(size, ranks, batch);
                    REQUIRE(repeated <= static_cast<std::int64_t>(own.size()));
                    together.insert(together.end(), own.begin(), own.end() - repeated);
                    longest = std::max(longest, own.size());
                    shortest = std::min(shortest, own.size());
                }
                CHECK(together == batch_samples(all, one, batch));
                CHECK(longest == shortest);
            }
        }
    }
}

TEST_CASE("one rank repeats no sample") {
    LoaderParams params = params_of(0);
    params.batch_size = 4;
    for (std::int64_t batch = 0; batch < 4; ++batch) CHECK(repeated_samples(13, params, batch) == 0);
}

TEST_CASE("with drop_last the ranks take equally many, none twice") {
    const Numbers all = epoch_order(10, params_of(1), 0);
    Numbers together;
    for (const auto& own : orders_of_ranks(10, params_of(1, 4, true), 0)) {
        CHECK(own.size() == 2);
        together.insert(together.end(), own.begin(), own.end());
    }
    CHECK(sorted(together) == sorted(Numbers(all.begin(), all.begin() + 8)));
}

TEST_CASE("ranks that divide the samples partition them") {
    Numbers together;
    for (const auto& own : orders_of_ranks(12, params_of(6, 3), 2))
        together.insert(together.end(), own.begin(), own.end());
    CHECK(sorted(together) == counted(12));
}

TEST_CASE("more ranks than samples take one each, or none with drop_last") {
    const Numbers all = epoch_order(3, params_of(2), 0);
    const auto ranks = orders_of_ranks(3, params_of(2, 5), 0);
    for (std::size_t rank = 0; rank < 5; ++rank) CHECK(ranks[rank] == Numbers{all[rank % 3]});
    for (const auto& own : orders_of_ranks(3, params_of(2, 5, true), 0)) CHECK(own.empty());
}

TEST_CASE("an epoch's batches are its samples by batch_size, the last one smaller or left out") {
    struct Case {
        std::int64_t size, world_size, batch_size;
        bool drop_last;
        std::int64_t batches;
    };
    const Case cases[] = {{23, 1, 4, false, 6}, {23, 1, 4, true, 5}, {20, 1, 4, true, 5},
                          {3, 1, 4, false, 1},  {3, 1, 4, true, 0},  {23, 3, 4, false, 2},
                          {23, 3, 4, true, 1}};
    for (const Case& one : cases) {
        LoaderParams params = params_of(0, one.world_size, one.drop_last);
        params.batch_size = one.batch_size;
        INFO(one.size << " samples, " << one.world_size << " ranks");
        CHECK(epoch_batches(one.size, params) == one.batches);
    }
}

TEST_CASE("batches cut an order into parts") {
    LoaderParams params = params_of(0);
    params.batch_size = 4;
    const Numbers order{5, 3, 8, 1, 9, 2};
    CHECK(batch_samples(order, params, 0) == Numbers{5, 3, 8, 1});
    CHECK(batch_samples(order, params, 1) == Numbers{9, 2});
    CHECK(batch_samples(order, params, 2).empty());
}
