// What the two sides of a launch share: its geometry, and the element types that kernels read and write.
// Neither CUDA nor LibTorch is needed. Since 1.0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace switchyard::device {

// How a kernel is started: what the host computes, and what it can be asked without a device.
struct Launch {
    std::int64_t blocks = 0;  // 0: nothing to do, no launch
    int threads = 0;
    std::size_t shared_bytes = 0;
};

// c10::BFloat16 and c10::Half have the same bits.
struct Bf16 {
    std::uint16_t bits = 0;
};
struct Fp16 {
    std::uint16_t bits = 0;
};

enum class Storage : std::uint8_t { float32, bf16, fp16 };

constexpr int bytes_of(Storage type) { return type == Storage::float32 ? 4 : 2; }

// Calls body with a value of the type that kernels know the storage by.
template <class Body>
void with_storage(Storage type, const Body& body) {
    switch (type) {
        case Storage::float32:
            return body(float{});
        case Storage::bf16:
            return body(Bf16{});
        case Storage::fp16:
            return body(Fp16{});
    }
}

}  // namespace switchyard::device
