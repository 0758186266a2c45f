#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "few_rows.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <algorithm>

#include <switchyard/sdk/cpu/float_rows-inl.h>

#include "few_rows.h"
#include "stream_call.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::gemm::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using U = hn::Rebind<std::uint32_t, F>;
using V = hn::Vec<F>;

std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(F())); }

// One load of a weight's row: so many vectors of floats. Of bfloat16 the numbers at even places come first,
// then those at odd ones, which takes one instruction each.
template <class Number>
struct Load;
template <>
struct Load<float> {
    static constexpr int vectors = 1;
    static void of(const float* from, V (&w)[1]) { w[0] = hn::LoadU(F(), from); }
};
template <>
struct Load<c10::BFloat16> {
    static constexpr int vectors = 2;
    static void of(const c10::BFloat16* from, V (&w)[2]) {
        const U u;
        const auto pairs = hn::LoadU(u, reinterpret_cast<const std::uint32_t*>(from));
        w[0] = hn::BitCast(F(), hn::ShiftLeft<16>(pairs));
        w[1] = hn::BitCast(F(), hn::And(pairs, hn::Set(u, 0xFFFF0000U)));
    }
};

// A row of x as floats, in the order of such loads.
template <class Number>
void arrange(const Number* x, std::int64_t in, float* to) {
    constexpr int vectors = Load<Number>::vectors;
    const std::int64_t step = lanes() * vectors;
    std::int64_t i = 0;
    for (; i + step <= in; i += step) {
        V part[vectors];
        Load<Number>::of(x + i, part);
        for (int v = 0; v < vectors; ++v) hn::StoreU(part[v], F(), to + i + v * lanes());
    }
    for (; i < in; ++i) to[i] = static_cast<float>(x[i]);
}

// A core that waits for memory has too few lines under way to read as fast as the machine can: it asks for
// those that come, further ahead than its own prefetching looks, which ends at a page of 4096 bytes.
constexpr std::int64_t bytes_ahead = 4096;

// The products of some rows of x with so many rows of the weight. More sums than one for each keep additions
// from waiting for each other. In which order a sum is made does not depend on how many rows there are.
template <class Number, int rows, int outputs>
void some_outputs(const StreamCall& call, const Number* const (&weight)[outputs],
                  float (&sums)[outputs][rows]) {
    constexpr int vectors = Load<Number>::vectors, loads = rows == 1 ? 4 / vectors : rows <= 3 ? 2 : 1;
    const F f;
    const std::int64_t step = lanes() * vectors;
    V sum[outputs][rows][loads * vectors];
    for (auto& output : sum)
        for (auto& row : output) std::fill(std::begin(row), std::end(row), hn::Zero(f));
    std::int64_t i = 0;
    const auto add = [&](int load) {
        for (int o = 0; o < outputs; ++o) {
            V w[vectors];
            Load<Number>::of(weight[o] + i + load * step, w);
            for (int r = 0; r < rows; ++r) {
                const float* const x = call.x + r * call.in + i + load * step;
                for (int v = 0; v < vectors; ++v) {
                    V& one = sum[o][r][load * vectors + v];
                    one = hn::MulAdd(w[v], hn::LoadU(f, x + v * lanes()), one);
                }
            }
        }
    };
    for (; i + loads * step <= call.in; i += loads * step) {
        for (const Number* const row : weight)
            for (int load = 0; load < loads; ++load)
                hwy::Prefetch(reinterpret_cast<const char*>(row + i + load * step) + bytes_ahead);
        for (int load = 0; load < loads; ++load) add(load);
    }
    for (; i + step <= call.in; i += step) add(0);
    for (int o = 0; o < outputs; ++o) {
        for (int r = 0; r < rows; ++r) {
            V& all = sum[o][r][0];
            for (int s = 1; s < loads * vectors; ++s) all = hn::Add(all, sum[o][r][s]);
            sums[o][r] = hn::GetLane(hn::SumOfLanes(f, all));
            for (std::int64_t j = i; j < call.in; ++j)
                sums[o][r] += static_cast<float>(weight[o][j]) * call.x[r * call.in + j];
        }
    }
}

// For one row of x two places of the weight are read at once, far apart, for memory is read faster so.
template <class Number, int rows>
void outputs(const StreamCall& call, std::int64_t first, std::int64_t last) {
    const auto* const weight = static_cast<const Number*>(call.weight);
    auto* const y = static_cast<Number*>(call.y);
    const auto* const bias = static_cast<const Number*>(call.bias);
    const auto store = [&](std::int64_t o, const float(&sums)[rows]) {
        for (int r = 0; r < rows; ++r)
            y[r * call.out + o] = static_cast<Number>(sums[r] + (bias ? static_cast<float>(bias[o]) : 0.0F));
    };
    std::int64_t done = first;
    if constexpr (rows == 1) {
        const std::int64_t half = (last - first) / 2;
        for (std::int64_t o = first; o < first + half; ++o) {
            float sums[2][rows];
            some_outputs<Number, rows, 2>(call, {weight + o * call.stride, weight + (o + half) * call.stride},
                                          sums);
            store(o, sums[0]);
            store(o + half, sums[1]);
        }
        done = first + 2 * half;
    }
    for (std::int64_t o = done; o < last; ++o) {
        float sums[1][rows];
        some_outputs<Number, rows, 1>(call, {weight + o * call.stride}, sums);
        store(o, sums[0]);
    }
}

template <class Number>
void some_rows(const StreamCall& call, std::int64_t first, std::int64_t last) {
    using Outputs = void (*)(const StreamCall&, std::int64_t, std::int64_t);
    constexpr Outputs by_rows[] = {outputs<Number, 1>, outputs<Number, 2>, outputs<Number, 3>,
                                   outputs<Number, 4>, outputs<Number, 5>, outputs<Number, 6>,
                                   outputs<Number, 7>, outputs<Number, 8>};
    by_rows[call.rows - 1](call, first, last);
}

inline StreamFunctions stream_functions() {
    return {arrange<float>, arrange<c10::BFloat16>, some_rows<float>, some_rows<c10::BFloat16>};
}

}  // namespace

StreamFunctions functions_of_target() { return stream_functions(); }

}  // namespace switchyard::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <ATen/ops/empty.h>

#include <switchyard/sdk/cpu/dealt_parts.h>

namespace switchyard::gemm {
namespace {

HWY_EXPORT(functions_of_target);

const StreamFunctions& stream_functions() {
    static const StreamFunctions chosen = HWY_DYNAMIC_DISPATCH(functions_of_target)();
    return chosen;
}

// Of the weight's bytes that are worth a part of their own.
constexpr std::int64_t bytes_of_a_part = 32768;

}  // namespace

bool streams(const at::Tensor& x_RI, const at::Tensor& weight_OI) {
    const auto type = x_RI.scalar_type();
    return (type == at::kFloat || type == at::kBFloat16) && x_RI.size(0) >= 1 &&
           x_RI.size(0) <= most_streamed_rows && weight_OI.size(1) >= 64 && weight_OI.stride(1) == 1;
}

at::Tensor streamed_product(const at::Tensor& x_RI, const at::Tensor& weight_OI, const at::Tensor& bias_O) {
    const at::Tensor x = x_RI.contiguous(), bias = bias_O.defined() ? bias_O.contiguous() : bias_O;
    const std::int64_t rows = x.size(0), in = weight_OI.size(1), out = weight_OI.size(0);
    const bool wide = x.scalar_type() == at::kFloat;
    at::Tensor y_RO = at::empty({rows, out}, x.options());
    const at::Tensor arranged = at::empty({rows, in}, x.options().dtype(at::kFloat));
    const StreamFunctions& functions = stream_functions();
    for (std::int64_t r = 0; r < rows; ++r) {
        float* const to = arranged.mutable_data_ptr<float>() + r * in;
        if (wide)
            functions.arrange_float(x.const_data_ptr<float>() + r * in, in, to);
        else
            functions.arrange_bfloat16(x.const_data_ptr<c10::BFloat16>() + r * in, in, to);
    }
    const StreamCall call{arranged.const_data_ptr<float>(),
                          weight_OI.const_data_ptr(),
                          bias.defined() ? bias.const_data_ptr() : nullptr,
                          y_RO.mutable_data_ptr(),
                          rows,
                          in,
                          out,
                          weight_OI.stride(0)};
    const auto bytes = in * static_cast<std::int64_t>(x.element_size());
    over_dealt_parts(out, bytes_of_a_part / bytes, [&](std::int64_t first, std::int64_t last) {
        (wide ? functions.some_float : functions.some_bfloat16)(call, first, last);
    });
    return y_RO;
}

}  // namespace switchyard::gemm
#endif
