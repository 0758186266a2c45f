// How much of the sums lies behind backward, by hand. To add a case: a line in the table.
#include <vector>

#include "core/workbench/distributed/communication.h"

#include <switchyard_test.h>

using namespace switchyard::distributed;
using switchyard::test::Approx;

namespace {

BackwardTrace trace_of(double backward, const std::vector<std::pair<double, double>>& spans) {
    BackwardTrace trace{backward, {}};
    for (const auto& [begin, end] : spans) trace.sums.push_back({100, begin, end});
    return trace;
}

}  // namespace

TEST_CASE("time in which several sums go on counts once, and is hidden until backward ends") {
    struct Case {
        double backward;
        std::vector<std::pair<double, double>> spans;
        double seconds, hidden;
    };
    const std::vector<Case> cases{
        {10, {}, 0, 0},
        {10, {{2, 5}}, 3, 3},
        {10, {{10, 14}}, 4, 0},
        {10, {{8, 14}}, 6, 2},
        {10, {{2, 4}, {6, 7}}, 3, 3},
        {10, {{2, 6}, {4, 9}}, 7, 7},
        {10, {{2, 9}, {3, 5}, {4, 6}}, 7, 7},
        {10, {{4, 12}, {8, 11}, {10, 15}}, 11, 6},
        {10, {{9, 12}, {10, 10}, {13, 14}}, 4, 1},
        {10, {{6, 9}, {2, 4}}, 5, 5},
        {0, {{0, 3}}, 3, 0},
    };
    for (const auto& one : cases) {
        const auto overlap = overlap_of(trace_of(one.backward, one.spans));
        INFO("case " << &one - cases.data());
        CHECK(overlap.seconds == Approx(one.seconds));
        CHECK(overlap.hidden_seconds == Approx(one.hidden));
    }
}

TEST_CASE("a record has the sums over the steps, and the step of median length") {
    CommunicationRecord record;
    CHECK_FALSE(record.so_far());
    record.add(trace_of(100, {{0, 300}}));
    REQUIRE(record.so_far());
    CHECK(record.so_far()->steps == 1);
    CHECK(record.so_far()->hidden_share() == Approx(1.0 / 3.0));
    record.add(trace_of(10, {{8, 12}}));   // ends at 12
    record.add(trace_of(20, {{10, 14}}));  // ends with backward, at 20
    record.add(trace_of(12, {{10, 15}}));  // ends at 15
    const auto all = record.so_far();
    CHECK(all->steps == 3);  // without the first one of the process
    CHECK(all->seconds == Approx(13.0));
    CHECK(all->hidden_seconds == Approx(8.0));
    CHECK(all->backward_seconds == Approx(42.0));
    CHECK(all->hidden_share() == Approx(8.0 / 13.0));
    CHECK(all->typical.backward_seconds == 12.0);
}

TEST_CASE("a record keeps the traces of the last steps alone") {
    CommunicationRecord record;
    for (int step = 0; step < 500; ++step) record.add(trace_of(step < 400 ? 1.0 : 7.0, {}));
    CHECK(record.so_far()->steps == 499);
    CHECK(record.so_far()->typical.backward_seconds == 7.0);
    CHECK(record.so_far()->hidden_share() == 1.0);
}
