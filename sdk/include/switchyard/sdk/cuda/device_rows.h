// Eight values at a time, as floats, whatever they are stored in; and sums over a warp or a block in a fixed
// order. For kernel sources. Since 1.0.
#pragma once

#include <switchyard/sdk/cuda/device.h>

namespace switchyard::device {

constexpr int vector_values = 8;  // of a thread: 16 bytes of 16-bit values, two times 16 of floats

// Where a thread's eight values lie. `whole`: all eight are there, at multiples of 16 bytes; else the first
// `count` (0 to 8) one by one.
struct Span {
    std::int64_t begin = 0;
    int count = 0;
    bool whole = false;
};

__device__ __forceinline__ Span span_of(std::int64_t begin, std::int64_t end, bool aligned) {
    const std::int64_t left = end - begin;
    const int count = left <= 0 ? 0 : left < vector_values ? static_cast<int>(left) : vector_values;
    return {begin, count, aligned && count == vector_values};
}

__device__ __forceinline__ float bits_to_float(std::uint32_t bits) {
    union {
        std::uint32_t bits;
        float value;
    } both{bits};
    return both.value;
}
__device__ __forceinline__ std::uint32_t float_to_bits(float value) {
    union {
        float value;
        std::uint32_t bits;
    } both{value};
    return both.bits;
}

__device__ __forceinline__ float load_one(const float* place) { return *place; }
__device__ __forceinline__ void store_one(float value, float* place) { *place = value; }
template <class T>
__device__ __forceinline__ float load_one(const T* place) {
    float value, other;
    unpack<T>(place->bits, value, other);
    return value;
}
template <class T>
__device__ __forceinline__ void store_one(float value, T* place) {
    place->bits = static_cast<std::uint16_t>(pack<T>(value, 0.0F) & 0xFFFFU);
}

__device__ __forceinline__ void load_whole(const float* place, float (&x)[8]) {
    const Words low = load16(place), high = load16(place + 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        x[i] = bits_to_float(low.word[i]);
        x[i + 4] = bits_to_float(high.word[i]);
    }
}
template <class T>
__device__ __forceinline__ void load_whole(const T* place, float (&x)[8]) {
    const Words words = load16(place);
#pragma unroll
    for (int i = 0; i < 4; ++i) unpack<T>(words.word[i], x[2 * i], x[2 * i + 1]);
}
__device__ __forceinline__ void store_whole(const float (&x)[8], float* place) {
    Words low, high;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        low.word[i] = float_to_bits(x[i]);
        high.word[i] = float_to_bits(x[i + 4]);
    }
    store16(place, low);
    store16(place + 4, high);
}
template <class T>
__device__ __forceinline__ void store_whole(const float (&x)[8], T* place) {
    Words words;
#pragma unroll
    for (int i = 0; i < 4; ++i) words.word[i] = pack<T>(x[2 * i], x[2 * i + 1]);
    store16(place, words);
}

// Zeros past the end.
template <class T>
__device__ __forceinline__ void load8(const T* data, const Span& at, float (&x)[8]) {
    if (at.whole) return load_whole(data + at.begin, x);
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = i < at.count ? load_one(data + at.begin + i) : 0.0F;
}
template <class T>
__device__ __forceinline__ void store8(const float (&x)[8], T* data, const Span& at) {
    if (at.whole) return store_whole(x, data + at.begin);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        if (i < at.count) store_one(x[i], data + at.begin + i);
    }
}

// Of a type that is known at run time, the same for all threads.
__device__ __forceinline__ void load8(Storage type, const void* data, const Span& at, float (&x)[8]) {
    if (type == Storage::float32) return load8(static_cast<const float*>(data), at, x);
    if (type == Storage::bf16) return load8(static_cast<const Bf16*>(data), at, x);
    load8(static_cast<const Fp16*>(data), at, x);
}
__device__ __forceinline__ void store8(const float (&x)[8], Storage type, void* data, const Span& at) {
    if (type == Storage::float32) return store8(x, static_cast<float*>(data), at);
    if (type == Storage::bf16) return store8(x, static_cast<Bf16*>(data), at);
    store8(x, static_cast<Fp16*>(data), at);
}

// In all lanes, and the same bits in all: both partners of an exchange add the same two numbers.
template <class T>
__device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) value += shuffle_xor(value, mask);
    return value;
}
__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) value = fmaxf(value, shuffle_xor(value, mask));
    return value;
}

// In all threads of a block of `kWarps` warps; `shared` holds kWarps numbers, and may be used again after the
// next barrier.
template <int kWarps, class T>
__device__ __forceinline__ T block_sum(T value, T* shared) {
    value = warp_sum(value);
    if constexpr (kWarps == 1) return value;
    if (lane() == 0) shared[warp()] = value;
    sync_block();
    T sum = shared[0];
#pragma unroll
    for (int i = 1; i < kWarps; ++i) sum += shared[i];
    return sum;
}

}  // namespace switchyard::device
