#include "core/workbench/scale/network.h"

#include <algorithm>
#include <cmath>

namespace switchyard::scale {
namespace {

// Once round.
double ring_ms(double bytes, std::int64_t ranks, const Link& link) {
    return static_cast<double>(ranks - 1) *
           (link.latency_us / 1e3 + bytes / static_cast<double>(ranks) / (link.gbytes_per_second * 1e6));
}

double tree_ms(double bytes, std::int64_t ranks, const Network& network) {
    const double hosts = std::ceil(static_cast<double>(ranks) / static_cast<double>(network.ranks_per_host));
    const double within = static_cast<double>(network.ranks_per_host - 1) * network.within.latency_us;
    const double between = std::ceil(std::log2(hosts)) * network.between.latency_us;
    return 2.0 * (bytes / (network.between.gbytes_per_second * 1e6) + (within + between) / 1e3);
}

}  // namespace

double all_reduce_ms(double bytes, std::int64_t ranks, const Collectives& collectives) {
    if (ranks < 2) return 0.0;
    const auto& network = collectives.network;
    const double ring = 2.0 * ring_ms(bytes, ranks, collectives.slowest(ranks));
    if (!collectives.trees || ranks <= network.ranks_per_host) return ring;
    return std::min(ring, tree_ms(bytes, ranks, network));
}

double all_gather_ms(double bytes, std::int64_t ranks, const Collectives& collectives) {
    return ranks < 2 ? 0.0 : ring_ms(bytes, ranks, collectives.slowest(ranks));
}

}  // namespace switchyard::scale
