// How long collective operations over a network take: messages as machine_rates.h says.
//
// Sums over all ranks go round a ring (Patarasuk & Yuan 2009, "Bandwidth optimal all-reduce algorithms for
// clusters of workstations", Journal of Parallel and Distributed Computing 69:117): each rank sends 2 (N -
// 1) messages of n / N bytes, over several hosts as fast as the slowest link. NCCL makes as many rings as a
// host has ranks with an adapter each, which share the bytes, and takes two trees over the hosts where that
// is faster (Sanders, Speck & Traeff 2009, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", Parallel Computing 35:581): as many bytes, and messages up and down the height of a tree and through
// the ranks of a host. What switches and other jobs cost is left out.
//
// No LibTorch here.
#pragma once

#include <cstdint>

#include "core/kernel/machine/machine_rates.h"

namespace switchyard::scale {

using machine::Link;
using machine::Network;

struct Collectives {
    Network network;
    bool trees = false;  // of several hosts, and a ring for each adapter, as NCCL's; Gloo has one ring alone

    // The slowest link of one ring of so many ranks: what carries a message from one of them to another.
    const Link& slowest(std::int64_t ranks) const {
        return ranks > network.ranks_per_host ? network.between : network.within;
    }
    // What all rings of so many ranks carry together.
    Link rings(std::int64_t ranks) const;
};

// A sum over the ranks that all of them get.
double all_reduce_ms(double bytes, std::int64_t ranks, const Collectives& collectives);
// Each rank's part of so many bytes, to all others: the second half of a ring's sum.
double all_gather_ms(double bytes, std::int64_t ranks, const Collectives& collectives);

}  // namespace switchyard::scale
