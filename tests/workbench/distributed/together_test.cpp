// Ranks that meet, and how they end where one of them cannot go on. A rank is a thread here, the store a map.
#include <string>
#include <thread>
#include <vector>

#include <switchyard_test.h>
#include "core/workbench/distributed/together.h"
#include "map_store.h"

using namespace switchyard;
using namespace switchyard::distributed;
using test::MapStore;

namespace {

struct GoneStore final : Store {
    void set(const std::string&, const std::string&) override { throw StoreGone("connection reset"); }
    std::optional<std::string> get(const std::string&) override { throw StoreGone("connection reset"); }
    std::int64_t add(const std::string&, std::int64_t) override { throw StoreGone("connection reset"); }
    bool wait(const std::vector<std::string>&, double) override { throw StoreGone("connection reset"); }
};

template <class Act>
void at_places(std::int64_t count, const Act& act) {
    std::vector<std::thread> ranks;
    for (std::int64_t rank = 0; rank < count; ++rank)
        ranks.emplace_back([&act, rank, count] { act(Place{rank, count}); });
    for (auto& rank : ranks) rank.join();
}

constexpr double long_enough = 300.0;

// `words` of each rank; ranks without any are gone.
std::vector<Ending> endings(const std::vector<std::optional<LastWords>>& words) {
    std::vector<std::int64_t> gone;
    for (std::size_t rank = 0; rank < words.size(); ++rank)
        if (!words[rank]) gone.push_back(static_cast<std::int64_t>(rank));
    MapStore store(gone);
    std::vector<Ending> all(words.size());
    at_places(static_cast<std::int64_t>(words.size()), [&](const Place& place) {
        const auto index = static_cast<std::size_t>(place.rank);
        if (words[index]) all[index] = end_together(store, place, *words[index], long_enough);
    });
    return all;
}

}  // namespace

TEST_CASE("ranks that meet hear each other's words in the order of ranks") {
    MapStore store;
    std::vector<std::vector<std::string>> heard(3);
    at_places(3, [&](const Place& place) {
        const auto word = "word of " + std::to_string(place.rank);
        heard[static_cast<std::size_t>(place.rank)] = meet(store, place, "first", word, long_enough);
    });
    for (const auto& words : heard)
        CHECK(words == std::vector<std::string>{"word of 0", "word of 1", "word of 2"});
}

TEST_CASE("a rank that does not come to a meeting is named") {
    MapStore store;
    const auto missed = [&] { meet(store, {0, 3}, "first", "", 0.01); };
    CHECK_THROWS_WITH(missed(), "waited 0 s for ranks 1, 2 of 3 to come");
}

TEST_CASE("who waits at a meeting learns that another rank ended") {
    MapStore store;
    std::vector<std::string> said(2);
    at_places(2, [&](const Place& place) {
        LastWords words{"error: the disk is full", 1, false};
        if (place.rank == 0) {
            try {
                meet(store, place, "first", "", long_enough);
            } catch (const RankLost& lost) {
                words = {lost.what(), 1, true};
            }
        }
        said[static_cast<std::size_t>(place.rank)] = end_together(store, place, words, long_enough).text;
    });
    CHECK(said[0] == "rank 1: error: the disk is full");
    CHECK(said[1] == "");
}

TEST_CASE("an error that all ranks have is told once, by rank 0") {
    const auto ended = endings({{{"error: no such file", 2}}, {{"error: no such file", 2}}});
    CHECK(ended[0].text == "error: no such file");
    CHECK(ended[1].text == "");
    CHECK(ended[0].code == 2);
    CHECK(ended[1].code == 2);
}

TEST_CASE("errors of some ranks are told with their ranks") {
    const auto ended = endings({{{"another rank ended", 1, true}},
                                {{"error: no such file", 2}},
                                {{"error: no memory", 1}},
                                {{"error: no such file", 2}}});
    CHECK(ended[0].text == "rank 2: error: no memory\nranks 1, 3: error: no such file");
    CHECK(ended[0].code == 2);
    for (const std::size_t silent : {1, 2, 3}) CHECK(ended[silent].text == "");
}

TEST_CASE("a rank that left no word is named by rank 0") {
    const auto ended =
        endings({{{"Connection closed", 1, true}}, {{"Connection closed", 1, true}}, std::nullopt});
    CHECK(
        ended[0].text ==
        "error: rank 2 is gone or does not answer, and left no word; the others end too (Connection closed)");
    CHECK(ended[0].code == 1);
    CHECK(ended[1].text == "");
}

TEST_CASE("without rank 0 each rank speaks for itself") {
    GoneStore gone;
    const auto lost = end_together(gone, {1, 2}, {"Connection closed", 1, true}, long_enough);
    const std::string gone_or_silent =
        "error: rank 0, which all ranks meet at, is gone or does not answer (Connection closed)";
    CHECK(lost.text == gone_or_silent);
    CHECK(end_together(gone, {1, 2}, {"error: own", 5, false}, long_enough).text == "error: own");

    MapStore silent;  // somebody else serves it, rank 0 says nothing
    const auto alone = end_together(silent, {1, 2}, {"error: own", 5, false}, 0.01);
    CHECK(alone.text == "error: own");
    CHECK(alone.code == 5);
    CHECK(end_together(silent, {1, 2}, {"Connection closed", 1, true}, 0.01).text == gone_or_silent);
}

TEST_CASE("of two processes that are one rank the words of the first that ends are told") {
    MapStore store;
    const LastWords twice{"error: two processes say that they are rank 1", 2, false};
    const auto first = end_together(store, {1, 2}, twice, 0.01);  // nobody speaks yet
    CHECK(first.code == 2);
    std::vector<Ending> ended(2);
    at_places(2, [&](const Place& place) {
        ended[static_cast<std::size_t>(place.rank)] =
            end_together(store, place, {"another rank ended", 1, true}, long_enough);
    });
    CHECK(ended[0].text == "rank 1: error: two processes say that they are rank 1");
    CHECK(ended[0].code == 2);
    CHECK(ended[1].text == "");
    CHECK(ended[1].code == 2);
}

TEST_CASE("who waits at a meeting is told why another rank is taken for lost") {
    MapStore store;
    tell_those_who_wait(store, "rank 1 gave no sign of life for 30 s");
    const auto waits = [&] { meet(store, {0, 2}, "first", "", long_enough); };
    CHECK_THROWS_WITH(waits(), "rank 1 gave no sign of life for 30 s");
    tell_those_who_wait(store, "something else");
    CHECK_THROWS_WITH(waits(), "rank 1 gave no sign of life for 30 s");
}
