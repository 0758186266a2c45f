#include "some_ranks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <exception>
#include <latch>
#include <stdexcept>
#include <thread>

namespace switchyard::test {
namespace {

// c10d keeps a record of collectives, one for a process, whose map of process groups is not locked: with
// ranks that are threads it crashes now and then. It is off where it has room for no entries.
const bool no_recorder =
    ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1) == 0 && ::setenv("TORCH_NCCL_TRACE_BUFFER_SIZE", "0", 1) == 0;

}  // namespace

std::vector<distributed::RankEnvironment> local_ranks(std::int64_t count) {
    if (!no_recorder) throw std::runtime_error("the environment cannot be set");
    const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listening, plain, size) != 0 || ::listen(listening, 64) != 0 ||
        ::getsockname(listening, plain, &size) != 0)
        throw std::runtime_error("no port of the loopback");
    std::vector<distributed::RankEnvironment> ranks(static_cast<std::size_t>(count));
    for (std::int64_t rank = 0; rank < count; ++rank) {
        auto& one = ranks[static_cast<std::size_t>(rank)];
        one.rank = one.local_rank = rank;
        one.world_size = one.local_world_size = count;
        one.address = "127.0.0.1";
        one.port = ::ntohs(address.sin_port);
    }
    ranks[0].listening = listening;
    return ranks;
}

void as_ranks(std::int64_t count, const std::function<void(distributed::Group&)>& act,
              const RankOptions& options) {
    const auto environments = local_ranks(count);
    std::vector<std::exception_ptr> errors(environments.size());
    std::vector<std::shared_ptr<distributed::Store>> stores(environments.size());  // go last
    // One that throws at once would close what another still connects to.
    std::latch joined(count);
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < environments.size(); ++rank) {
        threads.emplace_back([&, rank] {
            std::unique_ptr<distributed::Group> group;
            try {
                config::DistributedConfig config;
                config.timeout = options.timeout;
                stores[rank] = distributed::connect_store(environments[rank], options.timeout);
                group = distributed::join_group(stores[rank], environments[rank], config::Collectives::gloo,
                                                config);
            } catch (...) {
                errors[rank] = std::current_exception();
            }
            joined.arrive_and_wait();
            if (!group) return;
            try {
                act(*group);
            } catch (...) {
                errors[rank] = std::current_exception();
            }
        });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& error : errors)
        if (error) std::rethrow_exception(error);
}

}  // namespace switchyard::test
