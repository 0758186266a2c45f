// Ranks as threads of this process, each with a store and a group of its own, over the loopback and a port
// that the system chose.
#pragma once

#include <functional>
#include <vector>

#include "core/workbench/distributed/c10d.h"

namespace switchyard::test {

// Environments of ranks; the first has a listening socket.
std::vector<distributed::RankEnvironment> local_ranks(std::int64_t count);

struct RankOptions {
    double timeout = 60.0;
};

// `act` in each of them at once. What one throws is thrown here, that of the first rank.
void as_ranks(std::int64_t count, const std::function<void(distributed::Group&)>& act,
              const RankOptions& options = {});

}  // namespace switchyard::test
