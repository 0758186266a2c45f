#include "core/kernel/base/descriptor_buffer.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <ios>
#include <system_error>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace switchyard::base {
namespace {

constexpr std::ptrdiff_t kept_bytes = 4;
constexpr std::size_t read_bytes = std::size_t{1} << 16;
constexpr int milliseconds_between_looks = 100;

}  // namespace

DescriptorBuffer::DescriptorBuffer(int descriptor, std::function<bool()> interrupted)
    : descriptor_(descriptor),
      interrupted_(std::move(interrupted)),
      bytes_(static_cast<std::size_t>(kept_bytes) + read_bytes) {
    char* const begin = bytes_.data() + kept_bytes;
    setg(begin, begin, begin);
}

// Until a read gives bytes, the end or an error at once; false: it was interrupted. A signal may reach
// another thread, or come just before the wait: so it is not relied on to end one.
bool DescriptorBuffer::wait() const {
    for (;;) {
        if (interrupted_ && interrupted_()) return false;
        pollfd ready{descriptor_, POLLIN, 0};
        const int found = ::poll(&ready, 1, interrupted_ ? milliseconds_between_looks : -1);
        if (found > 0 || (found < 0 && errno != EINTR)) return true;
    }
}

// How many bytes came; 0 at the end, negative with errno.
ssize_t DescriptorBuffer::read_some(char* into) const {
    while (wait()) {
        const auto got = ::read(descriptor_, into, read_bytes);
        if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;  // somebody made it non-blocking
    }
    return 0;
}

DescriptorBuffer::int_type DescriptorBuffer::underflow() {
    if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
    char* const begin = bytes_.data() + kept_bytes;
    const auto kept = std::min(kept_bytes, gptr() - eback());
    std::copy(gptr() - kept, gptr(), begin - kept);
    setg(begin - kept, begin, begin);
    const auto got = read_some(begin);
    if (got < 0) throw std::ios_base::failure("reading", std::error_code(errno, std::generic_category()));
    if (got == 0) return traits_type::eof();
    setg(begin - kept, begin, begin + got);
    return traits_type::to_int_type(*gptr());
}

}  // namespace switchyard::base
