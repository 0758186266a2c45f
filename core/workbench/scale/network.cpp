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

std::int64_t hosts_of(std::int64_t ranks, const Network& network) {
    return (ranks + network.ranks_per_host - 1) / network.ranks_per_host;
}

double tree_ms(double bytes, std::int64_t ranks, const Collectives& collectives) {
    const auto& network = collectives.network;
    const auto hosts = static_cast<double>(hosts_of(ranks, network));
    const double within = static_cast<double>(network.ranks_per_host - 1) * network.within.latency_us;
    const double between = std::ceil(std::log2(hosts)) * network.between.latency_us;
    return 2.0 * (bytes / (collectives.rings(ranks).gbytes_per_second * 1e6) + (within + between) / 1e3);
}

}  // namespace

// Within a host all of them go over the same links.
Link Collectives::rings(std::int64_t ranks) const {
    auto link = slowest(ranks);
    if (!trees || ranks <= network.ranks_per_host) return link;
    const auto of_a_host = ranks / hosts_of(ranks, network);
    link.gbytes_per_second *= static_cast<double>(of_a_host);
    if (network.within.known())
        link.gbytes_per_second = std::min(link.gbytes_per_second, network.within.gbytes_per_second);
    return link;
}

double all_reduce_ms(double bytes, std::int64_t ranks, const Collectives& collectives) {
    if (ranks < 2) return 0.0;
    const auto& network = collectives.network;
    const double ring = 2.0 * ring_ms(bytes, ranks, collectives.rings(ranks));
    if (!collectives.trees || ranks <= network.ranks_per_host) return ring;
    return std::min(ring, tree_ms(bytes, ranks, collectives));
}

double all_gather_ms(double bytes, std::int64_t ranks, const Collectives& collectives) {
    return ranks < 2 ? 0.0 : ring_ms(bytes, ranks, collectives.rings(ranks));
}

}  // namespace switchyard::scale
