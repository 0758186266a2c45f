#include "core/workbench/distributed/local_ranks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace switchyard::distributed {

Meeting open_meeting() {
    Meeting made{Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (made.socket.get() < 0 || ::bind(made.socket.get(), plain, size) != 0 ||
        ::listen(made.socket.get(), SOMAXCONN) != 0 || ::getsockname(made.socket.get(), plain, &size) != 0)
        throw std::runtime_error(std::string("no port of the loopback can be opened: ") +
                                 std::strerror(errno));
    made.port = ::ntohs(address.sin_port);
    return made;
}

Processors::Processors() { ::sched_getaffinity(0, sizeof all_, &all_); }

Processors::~Processors() {
    if (!stays_) ::sched_setaffinity(0, sizeof all_, &all_);
}

bool Processors::take_part(std::int64_t part, std::int64_t parts) {
    const auto each = CPU_COUNT(&all_) / parts;
    if (each == 0) return false;
    cpu_set_t own;
    CPU_ZERO(&own);
    std::int64_t number = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &all_)) continue;
        if (number / each == part) CPU_SET(cpu, &own);
        ++number;
    }
    return ::sched_setaffinity(0, sizeof own, &own) == 0;
}

}  // namespace switchyard::distributed
