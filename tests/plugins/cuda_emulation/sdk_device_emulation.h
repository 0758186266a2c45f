// The device layer of <switchyard/sdk/cuda/device.h> for the host: what kernel sources include where they are
// compiled as plain C++.
#pragma once

#include <cmath>
#include <cstring>

#include "grid_emulation.h"

namespace switchyard::device {

struct alignas(16) Words {
    std::uint32_t word[4];
};

inline int thread() { return emulation::current_thread(); }
inline int block() { return emulation::current_block(); }
inline int blocks() { return static_cast<int>(emulation::grid_blocks()); }
inline int lane() { return thread() % 32; }
inline int warp() { return thread() / 32; }

inline void sync_block() { emulation::wait_for_block(); }
inline void sync_warp() {
    emulation::meet(emulation::Meeting::sync, {}, [](auto&) {});
}

// Every lane says itself whose value it wants.
template <class T>
T shuffle_xor(T value, int mask) {
    static_assert(sizeof(T) <= 8);
    emulation::Lane own{};
    std::memcpy(own.a.data(), &value, sizeof(T));
    own.mask = mask;
    const auto& met = emulation::meet(emulation::Meeting::shuffle, own, [](auto& lanes) {
        for (int i = 0; i < 32; ++i) lanes[i].result = lanes[i ^ lanes[i].mask].a;
    });
    std::memcpy(&value, met.result.data(), sizeof(T));
    return value;
}

inline void check_aligned(const void* place) {
    if (reinterpret_cast<std::uintptr_t>(place) % 16 != 0)
        emulation::violate("16 bytes at an address that is no multiple of 16");
}
inline Words load16(const void* place) {
    check_aligned(place);
    Words words;
    std::memcpy(&words, place, sizeof(words));
    return words;
}
inline void store16(void* place, const Words& words) {
    check_aligned(place);
    std::memcpy(place, &words, sizeof(words));
}

template <class T>
T fresh(const T* place) {
    return *place;
}

// Blocks run one after the other.
inline bool last_block(unsigned* tickets, unsigned* shared) {
    sync_block();
    if (thread() == 0) *shared = (*tickets)++;
    sync_block();
    return static_cast<std::int64_t>(*shared) + 1 == emulation::grid_blocks();
}

inline float multiply(float a, float b) { return a * b; }
inline float add(float a, float b) { return a + b; }
inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
inline float root(float x) { return std::sqrt(x); }
inline float quotient(float a, float b) { return a / b; }

template <class T>
std::uint32_t pack(float low, float high) {
    T pair[2];
    emulation::round_to(low, pair[0]);
    emulation::round_to(high, pair[1]);
    return static_cast<std::uint32_t>(pair[0].bits) | (static_cast<std::uint32_t>(pair[1].bits) << 16U);
}
template <class T>
void unpack(std::uint32_t pair, float& low, float& high) {
    low = emulation::to_float(T{static_cast<std::uint16_t>(pair & 0xFFFFU)});
    high = emulation::to_float(T{static_cast<std::uint16_t>(pair >> 16U)});
}

inline float exp2(float x) { return std::exp2(x); }

template <class Kernel>
void launch(const Kernel& kernel, const Launch& geometry, void*, const char* = "") {
    if (geometry.blocks == 0) return;
    if (geometry.threads != Kernel::threads)
        emulation::violate("launched with other threads than the kernel's");
    emulation::run_grid(geometry, [&](unsigned char* shared) { kernel(shared); });
}

}  // namespace switchyard::device
