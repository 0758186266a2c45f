// Bytes of a file, one value after the other; never past its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/kernel/base/input_error.h"

namespace switchyard::gguf {

// Throws base::InputError ("ends in ... at byte N: it is truncated"), in words that go behind "PATH: ".
class ByteReader {
public:
    explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    std::uint64_t at() const { return at_; }
    std::uint64_t left() const { return bytes_.size() - at_; }

    // Little-endian, as the machine is.
    template <class Number>
    Number number(const char* what) {
        Number value{};
        std::memcpy(&value, take(sizeof value, what), sizeof value);
        return value;
    }

    std::string_view text(const char* what) {
        const auto size = number<std::uint64_t>(what);
        return {reinterpret_cast<const char*>(take(size, what)), static_cast<std::size_t>(size)};
    }

    // How many values of at least `smallest` bytes follow.
    std::uint64_t count(std::uint64_t smallest, const char* what) {
        const auto many = number<std::uint64_t>(what);
        require_room(many, smallest, what);
        return many;
    }
    void require_room(std::uint64_t many, std::uint64_t smallest, const char* what) const {
        if (many <= left() / smallest) return;
        throw base::InputError("says that there are " + std::to_string(many) + " " + what + ", but only " +
                               std::to_string(left()) + " bytes follow: it is truncated or wrong");
    }

private:
    const std::byte* take(std::uint64_t size, const char* what) {
        if (size > left())
            throw base::InputError("needs " + std::to_string(size) + " bytes for its " + what + " at byte " +
                                   std::to_string(at_) + ", but only " + std::to_string(left()) +
                                   " follow: it is truncated or wrong");
        const auto* const here = bytes_.data() + at_;
        at_ += size;
        return here;
    }

    std::span<const std::byte> bytes_;
    std::uint64_t at_ = 0;
};

}  // namespace switchyard::gguf
