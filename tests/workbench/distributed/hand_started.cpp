#include "hand_started.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "launched_ranks.h"

#include <switchyard_test.h>

namespace switchyard::test {
namespace {

// A socket that nobody listens on, bound to a free port of the loopback, so that no other program gets it;
// rank 0 may listen there all the same.
int reserve_port(int& port) {
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (made < 0 || ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        ::bind(made, plain, size) != 0 || ::getsockname(made, plain, &size) != 0)
        throw std::runtime_error("no port of the loopback");
    port = ::ntohs(address.sin_port);
    return made;
}

}  // namespace

HandStartedRanks::HandStartedRanks(int world_size, const std::vector<HandStarted>& ranks) {
    int port = 0;
    reserved_ = reserve_port(port);
    for (const auto& rank : ranks) {
        RunOptions options;
        options.environment = rank.environment;
        options.environment.insert({{"RANK", std::to_string(rank.rank)},
                                    {"WORLD_SIZE", std::to_string(world_size)},
                                    {"MASTER_ADDR", "127.0.0.1"},
                                    {"MASTER_PORT", std::to_string(port)}});
        started_.push_back(std::make_unique<Started>(rank.words, options));
    }
}

HandStartedRanks::~HandStartedRanks() { ::close(reserved_); }

std::vector<Outcome> HandStartedRanks::wait() {
    std::vector<Outcome> outcomes;
    for (const auto& one : started_) outcomes.push_back(one->wait());
    return outcomes;
}

void check_refused_together(HandStartedRanks& ranks, const Words& parts, const fs::path& run) {
    const auto outcomes = ranks.wait();
    INFO(outcomes[0].err);
    for (const auto& part : parts) CHECK_THAT(outcomes[0].err, contains(part));
    CHECK(count_of(outcomes[0].err, "error: ") == 1);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        INFO("process " << i << ": " << outcomes[i].err);
        CHECK(outcomes[i].code == 2);
        CHECK(outcomes[i].out.empty());
        if (i > 0) CHECK(outcomes[i].err.empty());
    }
    CHECK_FALSE(fs::exists(run));
}

}  // namespace switchyard::test
