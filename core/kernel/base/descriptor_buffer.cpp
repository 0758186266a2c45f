#include "core/kernel/base/descriptor_buffer.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <ios>
#include <system_error>

#include <poll.h>
#include <unistd.h>

namespace switchyard::base {
namespace {

constexpr std::ptrdiff_t kept_bytes = 4;
constexpr std::size_t read_bytes = std::size_t{1} << 16;

// How many bytes came; 0 at the end, negative with errno.
ssize_t read_some(int descriptor, char* into) {
    for (;;) {
        const auto got = ::read(descriptor, into, read_bytes);
        if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
        if (errno == EINTR) continue;
        pollfd ready{descriptor, POLLIN, 0};  // somebody made it non-blocking
        ::poll(&ready, 1, -1);
    }
}

}  // namespace

DescriptorBuffer::DescriptorBuffer(int descriptor)
    : descriptor_(descriptor), bytes_(static_cast<std::size_t>(kept_bytes) + read_bytes) {
    char* const begin = bytes_.data() + kept_bytes;
    setg(begin, begin, begin);
}

DescriptorBuffer::int_type DescriptorBuffer::underflow() {
    if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
    char* const begin = bytes_.data() + kept_bytes;
    const auto kept = std::min(kept_bytes, gptr() - eback());
    std::copy(gptr() - kept, gptr(), begin - kept);
    setg(begin - kept, begin, begin);
    const auto got = read_some(descriptor_, begin);
    if (got < 0) throw std::ios_base::failure("reading", std::error_code(errno, std::generic_category()));
    if (got == 0) return traits_type::eof();
    setg(begin - kept, begin, begin + got);
    return traits_type::to_int_type(*gptr());
}

}  // namespace switchyard::base
