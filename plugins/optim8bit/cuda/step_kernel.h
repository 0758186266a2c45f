// AdamW and Lion with 8-bit moments over all tensors in one launch. A warp takes a block of 256 values, eight
// a lane, so the largest magnitude is found by shuffles and nothing waits at a barrier. (bitsandbytes'
// kOptimizerStatic8bit2StateBlockwise, csrc/kernels.cu, gives a block of values a block of threads, and
// searches each code in the book.)
//
// Every product and sum is rounded where the CPU rounds it (block_kernels.cpp), and codes are found by the
// CPU's tables: the codes are the same.
#pragma once

#include <switchyard/interfaces/dropout.h>
#include <switchyard/sdk/cuda/device_optimizer.h>

#include "step_launch.h"

namespace switchyard::optim8bit_cuda {

using device::add;
using device::fused;
using device::multiply;
using device::Span;

struct StepNumbers : device::StepNumbers {
    float rate;  // lr / (1 - beta1^t)
    std::uint32_t step;
};

struct MakeNumbers {
    using Numbers = StepNumbers;

    __device__ __forceinline__ StepNumbers operator()(const device::GroupOfStep& group, double step,
                                                      double lr_factor, float gradient_factor) const {
        const double lr = group.lr * lr_factor;
        StepNumbers n;
        static_cast<device::StepNumbers&>(n) = device::step_numbers(group, step, lr, gradient_factor);
        n.rate = static_cast<float>(lr / (1.0 - pow(group.beta1, step)));
        n.step = static_cast<std::uint32_t>(step);
        return n;
    }
};

__device__ __forceinline__ void adamw(const StepNumbers& n, float& w, float g, float& m, float& v) {
    device::take_in(n, multiply(g, n.gradient_factor), m, v);
    const float step = device::quotient(m, fused(device::root(v), n.unbias2, n.eps));
    w = fused(-n.rate, step, multiply(w, n.keep));
}

// The way from a magnitude in [0, 1] to a code, counted from the code of 0 (dynamic_codes.h, CodeFinder).
struct Places {
    const BookOnDevice* book;
    int zero, most;  // the code of 0; the place of the last decade's last code

    __device__ __forceinline__ int piece(float y) const {
        const float some = fmaxf(y, 0x1p-30F);
        const auto cell = (device::float_to_bits(some) >> 24U) & 15U;
        return book->below[cell] + (y >= book->threshold[cell] ? 1 : 0);
    }
    __device__ __forceinline__ float position(float y, int piece) const {
        return fminf(fused(y, book->slope[piece], book->offset[piece]), book->last[piece]);
    }
    __device__ __forceinline__ int nearest(float y) const {
        return static_cast<int>(rintf(position(y, piece(y))));
    }
    // The code below, or the one above it, by chance: number / 65536 in [0, 1).
    __device__ __forceinline__ int by_chance(float y, std::uint32_t number) const {
        const int in = piece(y) < 7 ? piece(y) : 7;
        int below = static_cast<int>(floorf(position(y, in)));
        below = below < most ? below : most;
        const float low = book->code[zero + below], high = book->code[zero + below + 1];
        const float u = multiply(static_cast<float>(number), 0x1p-16F);
        return below + (multiply(u, add(high, -low)) < add(y, -low) ? 1 : 0);
    }
};

__device__ __forceinline__ float inverse_of(float largest) {
    return largest > 0x1p-126F ? device::quotient(1.0F, largest) : 0.0F;
}

__device__ __forceinline__ void load_codes(const std::uint8_t* codes, const Span& at, int zero,
                                           int (&code)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) code[i] = zero;
    if (at.whole) {
        const auto* const words = reinterpret_cast<const std::uint32_t*>(codes + at.begin);
        const std::uint32_t low = words[0], high = words[1];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            code[i] = static_cast<int>((low >> (8 * i)) & 255U);
            code[i + 4] = static_cast<int>((high >> (8 * i)) & 255U);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        if (i < at.count) code[i] = codes[at.begin + i];
    }
}
__device__ __forceinline__ void store_codes(const int (&code)[8], std::uint8_t* codes, const Span& at) {
    if (at.whole) {
        std::uint32_t low = 0, high = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            low |= static_cast<std::uint32_t>(code[i]) << (8 * i);
            high |= static_cast<std::uint32_t>(code[i + 4]) << (8 * i);
        }
        auto* const words = reinterpret_cast<std::uint32_t*>(codes + at.begin);
        words[0] = low, words[1] = high;
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        if (i < at.count) codes[at.begin + i] = static_cast<std::uint8_t>(code[i]);
    }
}

struct StepKernel {
    static constexpr int threads = device::optimizer_threads;
    static constexpr int warps = threads / 32;
    static constexpr int signed_zero = 127, unsigned_zero = 0;

    device::StepCall c;
    Codes codes;

    // 256 numbers for a block: value j has word j / 64 of call j % 64 (block_kernels.h, Chance). Lane l makes
    // calls l and l + 32.
    __device__ __forceinline__ void draw(std::uint32_t block, std::uint32_t parameter, std::uint32_t step,
                                         std::uint32_t* numbers) const {
        device::sync_warp();
        for (int call = device::lane(); call < 64; call += 32) {
            const auto words =
                philox4x32_10({static_cast<std::uint32_t>(call), block, parameter, step}, codes.seed);
#pragma unroll
            for (int k = 0; k < 4; ++k) numbers[64 * k + call] = words[k];
        }
        device::sync_warp();
    }

    __device__ __forceinline__ void encode_first(const float (&m)[8], float largest, const Places& places,
                                                 const std::uint32_t* numbers, int (&code)[8]) const {
        const float inverse = inverse_of(largest);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const float y = multiply(fabsf(m[i]), inverse);
            const int place = codes.by_chance ? places.by_chance(y, numbers[device::lane() * 8 + i] & 0xFFFFU)
                                              : places.nearest(y);
            // There is a code for 1, none for -1: the nearest is one nearer to 0.
            code[i] =
                m[i] < 0.0F ? signed_zero - (place < signed_zero ? place : signed_zero) : signed_zero + place;
        }
    }
    // What is not 0 does not become 0: m / (sqrt(0) + eps) would be a leap.
    __device__ __forceinline__ void encode_second(const float (&v)[8], float largest, const Places& places,
                                                  const std::uint32_t* numbers, int (&code)[8]) const {
        const float inverse = inverse_of(largest);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const float y = multiply(v[i], inverse);
            const int place = codes.by_chance ? places.by_chance(y, numbers[device::lane() * 8 + i] >> 16U)
                                              : places.nearest(y);
            code[i] = !(v[i] > 0.0F) ? 0 : place < 1 ? 1 : place;
        }
    }

    // One block of values by one warp.
    __device__ __forceinline__ void block_of_codes(const device::TensorOfStep& tensor, const Span& at,
                                                   const StepNumbers& n, const Books& books,
                                                   std::uint32_t* numbers) const {
        const bool has_second = static_cast<Rule>(tensor.rule) == Rule::adamw_codes;
        const std::int64_t number = (at.begin - device::lane() * 8) / values_of_block;
        auto* const first_codes = static_cast<std::uint8_t*>(tensor.first);
        auto* const second_codes = static_cast<std::uint8_t*>(tensor.second);
        float w[8], g[8], m[8], v[8] = {};
        int code[8];
        device::load8(tensor.gradient_type, tensor.gradient, at, g);
        device::load_weight(tensor, at, w);
        load_codes(first_codes, at, signed_zero, code);
        const float first_scale = tensor.first_scale[number];
#pragma unroll
        for (int i = 0; i < 8; ++i) m[i] = multiply(books.first.code[code[i]], first_scale);
        if (has_second) {
            load_codes(second_codes, at, unsigned_zero, code);
            const float second_scale = tensor.second_scale[number];
#pragma unroll
            for (int i = 0; i < 8; ++i) v[i] = multiply(books.second.code[code[i]], second_scale);
        }
        float most_m = 0.0F, most_v = 0.0F;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            has_second ? adamw(n, w[i], g[i], m[i], v[i]) : device::lion(n, w[i], g[i], m[i]);
            // A value whose moments are not finite loses them, and not its block's (block_kernels.cpp).
            const float telling = has_second ? v[i] : m[i];
            if (!(telling - telling == 0.0F)) m[i] = v[i] = 0.0F;
            most_m = fmaxf(most_m, fabsf(m[i]));
            most_v = fmaxf(most_v, v[i]);
        }
        device::store_weight(w, tensor, at);
        most_m = device::warp_max(most_m);
        if (has_second) most_v = device::warp_max(most_v);
        if (codes.by_chance) draw(static_cast<std::uint32_t>(number), tensor.index, n.step, numbers);
        encode_first(m, most_m, {&books.first, signed_zero, 127}, numbers, code);
        store_codes(code, first_codes, at);
        if (device::lane() == 0) tensor.first_scale[number] = most_m;
        if (!has_second) return;
        encode_second(v, most_v, {&books.second, unsigned_zero, 254}, numbers, code);
        store_codes(code, second_codes, at);
        if (device::lane() == 0) tensor.second_scale[number] = most_v;
    }

    __device__ __forceinline__ void eight_floats(const device::TensorOfStep& tensor, const Span& at,
                                                 const StepNumbers& n) const {
        const bool has_second = static_cast<Rule>(tensor.rule) == Rule::adamw_floats;
        auto* const first = static_cast<float*>(tensor.first);
        auto* const second = static_cast<float*>(tensor.second);
        float w[8], g[8], m[8], v[8] = {};
        device::load8(tensor.gradient_type, tensor.gradient, at, g);
        device::load_weight(tensor, at, w);
        device::load8(first, at, m);
        if (has_second) device::load8(second, at, v);
#pragma unroll
        for (int i = 0; i < 8; ++i)
            has_second ? adamw(n, w[i], g[i], m[i], v[i]) : device::lion(n, w[i], g[i], m[i]);
        device::store_weight(w, tensor, at);
        device::store8(m, first, at);
        if (has_second) device::store8(v, second, at);
    }

    __device__ __forceinline__ const Books& books_to_shared(unsigned char* shared) const {
        const auto* const from = reinterpret_cast<const std::uint32_t*>(codes.books);
        auto* const to = reinterpret_cast<std::uint32_t*>(shared + 256);
        constexpr int words = sizeof(Books) / sizeof(std::uint32_t);
        for (int i = device::thread(); i < words; i += threads) to[i] = from[i];
        device::sync_block();
        return *reinterpret_cast<const Books*>(to);
    }

    __device__ __forceinline__ void operator()(unsigned char* shared) const {
        if (device::refused(c)) return;
        const Books& books = books_to_shared(shared);
        auto* const numbers =
            reinterpret_cast<std::uint32_t*>(shared + 256 + sizeof(Books)) + device::warp() * values_of_block;
        device::over_pieces(
            c, MakeNumbers(), shared,
            [&](std::int64_t, const device::TensorOfStep& tensor, std::int64_t first, std::int64_t end,
                const StepNumbers& n) {
                const bool in_codes = static_cast<Rule>(tensor.rule) <= Rule::lion_codes;
                // A warp goes on while its block of values has one: all of its lanes, or none.
                for (std::int64_t begin = first + device::warp() * values_of_block; begin < end;
                     begin += warps * values_of_block) {
                    const Span at = device::span_of(begin + device::lane() * 8, end, tensor.aligned);
                    in_codes ? block_of_codes(tensor, at, n, books, numbers) : eight_floats(tensor, at, n);
                }
            });
        device::count_step(c, shared);
    }
};

}  // namespace switchyard::optim8bit_cuda
