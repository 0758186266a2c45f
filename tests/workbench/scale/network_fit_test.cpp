// The network that times of sums are fitted to: the one that made them, by the other file's formula.
#include "core/workbench/scale/network_fit.h"
#include "core/workbench/scale/network.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::scale;
using test::Approx;

namespace {

Collectives ring_of(double gbytes_per_second, double latency_us) {
    Collectives ring;
    ring.network.within = ring.network.between = {gbytes_per_second, latency_us};
    ring.network.ranks_per_host = 64;
    return ring;
}

std::vector<TimedSum> sums_of(const Collectives& ring, std::int64_t ranks) {
    std::vector<TimedSum> sums;
    for (const double bytes : {4e3, 6.25e4, 1e6, 4e6, 2.5e7})
        sums.push_back({bytes, all_reduce_ms(bytes, ranks, ring)});
    return sums;
}

}  // namespace

TEST_CASE("the link that made the times comes out, whatever the number of ranks") {
    for (const std::int64_t ranks : {2, 3, 8}) {
        const auto link = fitted_link(sums_of(ring_of(3.5, 40.0), ranks), ranks);
        CHECK(link.gbytes_per_second == Approx(3.5).epsilon(1e-6));
        CHECK(link.latency_us == Approx(40.0).epsilon(1e-6));
    }
}

TEST_CASE("times that are off by a share leave the link off by about as much") {
    auto sums = sums_of(ring_of(3.5, 40.0), 2);
    double sign = 1.0;
    for (auto& sum : sums) sum.ms *= 1.0 + 0.1 * (sign = -sign);
    const auto link = fitted_link(sums, 2);
    CHECK(link.gbytes_per_second == Approx(3.5).epsilon(0.15));
    CHECK(link.latency_us == Approx(40.0).epsilon(0.15));
}

TEST_CASE("a latency below zero is none, and one size tells nothing") {
    const auto link = fitted_link({{1e6, 1.0}, {1e7, 11.0}}, 2);
    CHECK(link.latency_us == 0.0);
    CHECK(link.gbytes_per_second > 0.0);
    CHECK_FALSE(fitted_link({{1e6, 1.0}, {1e6, 2.0}}, 2).known());
    CHECK_FALSE(fitted_link({{1e6, 2.0}, {1e7, 1.0}}, 2).known());
    CHECK_FALSE(fitted_link({{1e6, 1.0}, {1e7, 2.0}}, 1).known());
}

TEST_CASE("what a link carried is told as nccl-tests tells it") {
    CHECK(bus_gbytes_per_second({1e9, 1000.0}, 2) == Approx(1.0));
    CHECK(bus_gbytes_per_second({1e9, 1000.0}, 8) == Approx(1.75));
}
