// Who is taken for lost, by signs of life at made-up times; and a question that is never answered.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <switchyard_test.h>
#include "core/workbench/distributed/call_thread.h"
#include "core/workbench/distributed/signs_of_life.h"
#include "map_store.h"

using namespace switchyard;
using namespace switchyard::distributed;

namespace {

constexpr double allowed_silence = 30.0;
constexpr double patience = 300.0;

// What whoever waits at a meeting would be told; "": nothing.
std::string told(Store& store) { return store.get("ended").value_or(""); }

// Ranks on one store; each takes its turns when the test says so.
struct Ranks {
    test::MapStore store;
    std::vector<SignsOfLife> all;
    double now = 1000.0;

    explicit Ranks(std::int64_t count) {
        for (std::int64_t rank = 0; rank < count; ++rank)
            all.emplace_back(store, Place{rank, count}, allowed_silence);
    }
    // One turn of each of these after the other, as many times, `seconds` apart.
    void turns(int times, const std::vector<std::size_t>& of, double seconds) {
        for (int i = 0; i < times; ++i, now += seconds)
            for (const auto rank : of) all[rank].take_turn(now);
    }
};

}  // namespace

TEST_CASE("a rank that gives no sign of life for as long as ranks wait is told") {
    Ranks ranks(3);
    ranks.turns(4, {0, 1, 2}, 3.0);
    ranks.turns(9, {0, 1}, 3.0);
    CHECK(told(ranks.store) == "");
    ranks.turns(2, {0, 1}, 3.0);
    CHECK(told(ranks.store) == "rank 2 gave no sign of life for 30.0 s");
}

TEST_CASE("rank 0 is looked for by the others") {
    Ranks ranks(2);
    ranks.turns(4, {0, 1}, 3.0);
    ranks.turns(11, {1}, 3.0);
    CHECK(told(ranks.store) == "rank 0 gave no sign of life for 30.0 s");
}

TEST_CASE("a rank that lives is not lost, however long it is busy, nor one that has not come yet") {
    Ranks ranks(3);
    ranks.turns(2000, {0, 1}, 3.0);
    CHECK(told(ranks.store) == "");
    ranks.turns(50, {0, 1, 2}, 3.0);
    ranks.turns(6, {0, 1}, 3.0);  // silent for a while
    ranks.turns(50, {0, 1, 2}, 3.0);
    CHECK(told(ranks.store) == "");
}

TEST_CASE("the time that a process stood still itself is not the silence of others") {
    Ranks ranks(2);
    ranks.turns(2, {0, 1}, 3.0);
    ranks.now += 3600.0;  // both were stopped
    ranks.turns(2, {0}, 3.0);
    CHECK(told(ranks.store) == "");
    ranks.turns(2, {0, 1}, 3.0);
    ranks.turns(11, {0}, 3.0);
    CHECK(told(ranks.store) != "");
}

TEST_CASE("signs of life are given from a thread, from the beginning and until the end") {
    const auto store = std::make_shared<test::MapStore>();
    {
        const Heartbeat heartbeat(store, {1, 2}, 0.01);
        CHECK(store->add("alive/1", 0) >= 1);
        while (store->add("alive/1", 0) < 3) std::this_thread::yield();
    }
    const auto signs = store->add("alive/1", 0);
    CHECK(store->add("alive/1", 0) == signs);
}

TEST_CASE("a call that does not return is given up on, and none is waited for after it") {
    struct Gate {
        std::mutex mutex;
        std::condition_variable changed;
        bool open = false, passed = false;
    };
    const auto gate = std::make_shared<Gate>();
    {
        CallThread calls;
        int number = 0;
        CHECK(calls.returns_within(patience, [&] { number = 1; }));
        CHECK(calls.returns_within(patience, [&] { number += 2; }));
        CHECK(number == 3);
        CHECK_FALSE(calls.returns_within(0.01, [gate] {
            std::unique_lock lock(gate->mutex);
            gate->changed.wait(lock, [&] { return gate->open; });
            gate->passed = true;
            gate->changed.notify_all();
        }));
        CHECK_FALSE(calls.returns_within(patience, [&] { number = 0; }));
        CHECK(number == 3);
    }
    std::unique_lock lock(gate->mutex);
    gate->open = true;
    gate->changed.notify_all();
    gate->changed.wait(lock, [&] { return gate->passed; });
}
