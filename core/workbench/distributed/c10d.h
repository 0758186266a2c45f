// The ranks over LibTorch's c10d: its TCPStore, its process groups of Gloo and NCCL, its Reducer. Its headers
// cost 10 s a source, so one alone includes them (c10d.cpp, with c10d_store.h).
#pragma once

#include <memory>
#include <string>

#include "core/kernel/config/distributed_config.h"
#include "core/workbench/distributed/environment.h"
#include "core/workbench/distributed/group.h"

namespace switchyard::distributed {

// Every rank, once. Throws base::InputError where rank 0 cannot serve it, or it cannot be reached in time;
// there is nobody then who could speak for all. The store is taken for gone, too, once it does not answer for
// as long.
std::shared_ptr<Store> connect_store(const RankEnvironment& environment, double timeout_seconds);

// Another connection to it, for a thread of its own: what waits on one of them holds up nobody on the other.
std::shared_ptr<Store> connect_beside(const RankEnvironment& environment, double timeout_seconds);

// Comes together with all other ranks. Throws base::InputError for what cannot be served: two processes of
// one rank, ranks that disagree about how many they are, an interface that is not there.
std::unique_ptr<Group> join_group(const std::shared_ptr<Store>& store, const RankEnvironment& environment,
                                  config::Collectives backend, const config::DistributedConfig& config);

}  // namespace switchyard::distributed
