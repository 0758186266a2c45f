// Sums over a ring, buckets of gradients and the time line of a step, against closed forms, c10d's own
// buckets and a published table. To add a case: say what a step costs, work out by hand what comes of it.
#include <cmath>

#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <ATen/ops/empty.h>

#include "core/workbench/scale/buckets.h"
#include "core/workbench/scale/network.h"
#include "core/workbench/scale/step_timeline.h"

#include <switchyard_test.h>

using namespace switchyard::scale;
using switchyard::test::Approx;

namespace {

Collectives network_of(double gbytes_per_second, double latency_us) {
    Network network;
    network.within = network.between = {gbytes_per_second, latency_us};
    return {network, false};
}

StepCosts even_costs(std::size_t parameters, double backward_ms) {
    return {100.0, std::vector<double>(parameters, backward_ms / static_cast<double>(parameters)), 10.0};
}

}  // namespace

TEST_CASE("a sum over a ring takes 2 (N - 1) messages of a part each") {
    const auto network = network_of(10.0, 50.0);
    CHECK(all_reduce_ms(1e9, 1, network) == 0.0);
    // Two messages of 500 MB at 10 GB/s.
    CHECK(all_reduce_ms(1e9, 2, network) == Approx(2 * (0.05 + 50.0)));
    CHECK(all_reduce_ms(1e9, 8, network) == Approx(14 * (0.05 + 12.5)));
}

TEST_CASE("parts of all ranks go round a ring once") {
    const auto network = network_of(10.0, 50.0);
    CHECK(all_gather_ms(1e9, 1, network) == 0.0);
    CHECK(all_gather_ms(1e9, 2, network) == Approx(0.05 + 50.0));
    CHECK(2.0 * all_gather_ms(1e9, 8, network) == Approx(all_reduce_ms(1e9, 8, network)));
}

TEST_CASE("where each rank steps a part, the step is shorter and parameters go round behind it") {
    auto costs = even_costs(4, 200.0);
    costs.gathered_bytes = 1e9;
    const auto line = simulate_step(costs, {}, 4, network_of(10.0, 50.0));
    CHECK(line.gather_ms == Approx(3 * (0.05 + 25.0)));
    CHECK(line.step_ms == Approx(100.0 + 200.0 + 10.0 / 4 + line.gather_ms));
}

TEST_CASE("a ring over several hosts is as fast as what joins them") {
    Network network;
    network.within = {100.0, 1.0};
    network.between = {10.0, 20.0};
    network.ranks_per_host = 8;
    CHECK(all_reduce_ms(8e9, 8, {network, false}) == Approx(14 * (0.001 + 10.0)));
    CHECK(all_reduce_ms(9e9, 9, {network, false}) == Approx(16 * (0.020 + 100.0)));
}

TEST_CASE("over many hosts a tree saves messages, and is taken where that makes it faster") {
    Network network;
    network.within = {100.0, 1.0};
    network.between = {10.0, 20.0};
    network.ranks_per_host = 8;
    // 128 hosts: seven levels, and seven ranks of each host beside the first.
    CHECK(all_reduce_ms(1e6, 1024, {network, true}) == Approx(2 * (1e6 / 80e6 + 7 * 0.001 + 7 * 0.020)));
    CHECK(all_reduce_ms(1e6, 1024, {network, false}) == Approx(2046 * (0.020 + 1e6 / 1024 / 10e6)));
    // Of two hosts and many bytes the ring sends less.
    CHECK(all_reduce_ms(1e12, 16, {network, true}) == Approx(30 * (0.020 + 1e12 / 16 / 80e6)));
    CHECK(all_reduce_ms(1e6, 8, {network, true}) == all_reduce_ms(1e6, 8, {network, false}));
}

TEST_CASE("NCCL's rings over several hosts go over the adapters of all devices, one for each ring") {
    Network network;
    network.within = {450.0, 3.0};
    network.between = {50.0, 14.0};
    network.ranks_per_host = 8;
    const Collectives gloo{network, false}, nccl{network, true};
    CHECK(gloo.rings(16).gbytes_per_second == 50.0);
    CHECK(nccl.rings(8).gbytes_per_second == 450.0);
    CHECK(nccl.rings(16).gbytes_per_second == 400.0);
    CHECK(nccl.rings(16).latency_us == 14.0);
    // Six on each of two hosts.
    CHECK(nccl.rings(12).gbytes_per_second == 300.0);
    // One message goes over one of them.
    CHECK(nccl.slowest(16).gbytes_per_second == 50.0);
    CHECK(all_gather_ms(16e9, 16, nccl) == Approx(15 * (0.014 + 2.5)));
    // No faster than the links within a host, of which all rings have their part.
    network.within = {300.0, 3.0};
    CHECK(Collectives{network, true}.rings(16).gbytes_per_second == 300.0);
    // What was told of the ring itself (--network) is that of all.
    network.within = network.between = {20.0, 10.0};
    CHECK(Collectives{network, true}.rings(16).gbytes_per_second == 20.0);
}

TEST_CASE("buckets are those of c10d") {
    const std::vector<std::int64_t> sizes{30'000'000, 4'000,     600'000, 700'000,   25'000'000,
                                          8,          1'100'000, 300'000, 12'000'000};
    std::vector<at::Tensor> reversed;
    std::vector<std::int64_t> places;
    for (std::size_t i = sizes.size(); i-- > 0;) {
        reversed.push_back(at::empty({sizes[i]}, at::kByte));
        places.push_back(static_cast<std::int64_t>(i));
    }
    const std::size_t first = 1 << 20, limit = 25 << 20;
    const auto [theirs, limits] = c10d::compute_bucket_assignment_by_size(
        reversed, {first, limit}, std::vector<bool>(sizes.size(), false), places);
    const auto ours = make_buckets(sizes, first, limit);
    REQUIRE(ours.size() == theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
        CHECK(ours[i].parameters == theirs[i].size());
        CHECK(ours[i].first == theirs[i].back());
    }
}

TEST_CASE("sums go on while backward does, one after the other; what is left lies behind it") {
    const auto costs = even_costs(4, 200.0);  // 50 ms for each parameter
    const std::vector<std::int64_t> bytes(4, 1'000'000'000);
    const auto buckets = make_buckets(bytes, 1, 1);  // one each
    // 10 GB/s: 100 ms for each sum of two ranks.
    const auto step = simulate_step(costs, buckets, 2, network_of(10.0, 0.0));
    REQUIRE(step.buckets.size() == 4);
    CHECK(step.buckets[0].full_ms == Approx(150.0));
    CHECK(step.buckets[0].begin_ms == Approx(150.0));
    CHECK(step.buckets[1].full_ms == Approx(200.0));
    CHECK(step.buckets[1].begin_ms == Approx(250.0));
    CHECK(step.backward_end_ms == Approx(300.0));
    CHECK(step.exposed_ms == Approx(250.0));  // the last sum ends at 550
    CHECK(step.step_ms == Approx(560.0));
    CHECK(step.communication_ms == Approx(400.0));
    CHECK(step.hidden_share() == Approx(150.0 / 400.0));
    CHECK(step.efficiency == Approx(310.0 / 560.0));
    // Half as many bytes: sums end as soon as the last gradient and one sum do.
    const auto half = simulate_step(costs, buckets, 2, network_of(10.0, 0.0), 0.5);
    CHECK(half.exposed_ms == Approx(50.0));
}

TEST_CASE("of a sum that begins where backward ends nothing is hidden, however times are rounded") {
    StepTimeline line;
    line.communication_ms = 0.3;
    line.exposed_ms = 0.1 + 0.2;  // more, by a bit
    CHECK(line.hidden_share() == 0.0);
    CHECK_FALSE(std::signbit(line.hidden_share()));
    line.exposed_ms = 0.3 - 1e-13;
    CHECK(line.hidden_share() == 0.0);
    line.exposed_ms = -1e-13;
    CHECK(line.hidden_share() == 1.0);
}

TEST_CASE("one rank sums nothing up") {
    const auto costs = even_costs(4, 200.0);
    const auto step = simulate_step(costs, make_buckets({1, 1, 1, 1}, 1, 1), 1, network_of(1.0, 100.0));
    CHECK(step.step_ms == Approx(costs.all_ms()));
    CHECK(step.efficiency == 1.0);
}

// A published table of data parallel training has efficiencies of 94.9, 90.2 and 85.5 % on 2, 4 and 8
// devices. What joined them is not told: bandwidth and latency are fitted to the first and the last, and
// the second must follow within a point. A ring whose cost grew with its bytes alone would give 92.2 there,
// one of latencies alone 86.1.
TEST_CASE("efficiencies that were published follow from a ring") {
    StepCosts costs{0.0, {0.0}, 100.0};  // sums that hide behind nothing
    const auto buckets = make_buckets({1'000'000'000}, 1, 1);
    const double two = 100.0 / 0.949 - 100.0, eight = 100.0 / 0.855 - 100.0;  // ms of a sum
    // two = 2 l + B, eight = 14 l + 1.75 B, where B is the time of all bytes.
    const double latency_ms = (eight - 1.75 * two) / (14.0 - 3.5), bytes_ms = two - 2.0 * latency_ms;
    const auto network = network_of(1000.0 / bytes_ms, latency_ms * 1e3);
    const auto efficiency = [&](std::int64_t ranks) {
        return 100.0 * simulate_step(costs, buckets, ranks, network).efficiency;
    };
    CHECK(std::abs(efficiency(2) - 94.9) < 0.01);
    CHECK(std::abs(efficiency(8) - 85.5) < 0.01);
    CHECK(std::abs(efficiency(4) - 90.2) < 1.0);
}
