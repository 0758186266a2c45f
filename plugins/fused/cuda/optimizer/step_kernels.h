// Every rule of <switchyard/interfaces/optimizer.h> on eight values of a thread, over all tensors in one
// launch. Products and sums are rounded where those of the CPU's rows are (optimizer_rows.cpp).
#pragma once

#include <switchyard/sdk/cuda/device_optimizer.h>

#include "step_launch.h"

namespace switchyard::fused_cuda {

using device::fused;
using device::multiply;
using device::Span;
using device::take_in;

struct StepNumbers : device::StepNumbers {
    float weight_decay, unbias1;  // 1 / (1 - beta1^t)
    float momentum, rest_momentum;
    bool nesterov;
};

struct MakeNumbers {
    using Numbers = StepNumbers;

    __device__ __forceinline__ StepNumbers operator()(const device::GroupOfStep& group, double step,
                                                      double lr_factor, float gradient_factor) const {
        StepNumbers n;
        static_cast<device::StepNumbers&>(n) =
            device::step_numbers(group, step, group.lr * lr_factor, gradient_factor);
        n.weight_decay = static_cast<float>(group.weight_decay);
        n.unbias1 = static_cast<float>(1.0 / (1.0 - pow(group.beta1, step)));
        n.momentum = static_cast<float>(group.momentum);
        n.rest_momentum = static_cast<float>(1.0 - group.momentum);
        n.nesterov = group.nesterov != 0;
        return n;
    }
};

__device__ __forceinline__ float adam_direction(const StepNumbers& n, float m, float v) {
    return device::quotient(multiply(m, n.unbias1), fused(device::root(v), n.unbias2, n.eps));
}

// One value of a tensor. What a rule has no use for it leaves alone.
struct Value {
    float w, g, first, second;
};

__device__ __forceinline__ void adamw(const StepNumbers& n, Value& x) {
    take_in(n, multiply(x.g, n.gradient_factor), x.first, x.second);
    x.w = fused(-n.lr, adam_direction(n, x.first, x.second), multiply(x.w, n.keep));
}

__device__ __forceinline__ void adam(const StepNumbers& n, Value& x) {
    take_in(n, fused(x.w, n.weight_decay, multiply(x.g, n.gradient_factor)), x.first, x.second);
    x.w = fused(-n.lr, adam_direction(n, x.first, x.second), x.w);
}

__device__ __forceinline__ void sgd(const StepNumbers& n, bool has_momentum, Value& x) {
    const float g = fused(x.w, n.weight_decay, multiply(x.g, n.gradient_factor));
    float step = g;
    if (has_momentum) {
        x.first = fused(x.first, n.momentum, g);
        step = n.nesterov ? fused(x.first, n.momentum, g) : x.first;
    }
    x.w = fused(-n.lr, step, x.w);
}

// Squares of the weight and of the direction, which the second step makes again.
__device__ __forceinline__ void lamb(const StepNumbers& n, Value& x, float& of_w, float& of_direction) {
    take_in(n, multiply(x.g, n.gradient_factor), x.first, x.second);
    const float r = fused(x.w, n.weight_decay, adam_direction(n, x.first, x.second));
    of_w = fused(x.w, x.w, of_w);
    of_direction = fused(r, r, of_direction);
}

// The direction goes where another rule has its second moment.
__device__ __forceinline__ void muon(const StepNumbers& n, Value& x, float& of_direction) {
    const float g = multiply(multiply(x.g, n.gradient_factor), n.rest_momentum);
    x.first = fused(x.first, n.momentum, g);
    x.second = n.nesterov ? fused(x.first, n.momentum, g) : x.first;
    of_direction = fused(x.second, x.second, of_direction);
}

struct StepKernel {
    static constexpr int threads = device::optimizer_threads;
    static constexpr int warps = threads / 32;

    device::StepCall c;
    WholeTensors whole;
    bool counts = true;

    // Eight values, between their loads and their stores. Past the end all are 0, and 0 adds nothing to a
    // sum: r and the direction of zeros are zeros.
    __device__ __forceinline__ void eight(const device::TensorOfStep& tensor, const Span& at,
                                          const StepNumbers& n, float& of_w, float& of_direction) const {
        const Rule rule = static_cast<Rule>(tensor.rule);
        const bool weighs = rule != Rule::muon;  // the weight is not looked at
        const bool reads_second = tensor.second != nullptr && rule != Rule::muon;
        float w[8] = {}, g[8], first[8] = {}, second[8] = {};
        device::load8(tensor.gradient_type, tensor.gradient, at, g);
        if (tensor.first != nullptr) device::load8(static_cast<const float*>(tensor.first), at, first);
        if (reads_second) device::load8(static_cast<const float*>(tensor.second), at, second);
        if (weighs) device::load_weight(tensor, at, w);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            Value x{w[i], g[i], first[i], second[i]};
            switch (rule) {
                case Rule::adamw:
                    adamw(n, x);
                    break;
                case Rule::adam:
                    adam(n, x);
                    break;
                case Rule::sgd:
                    sgd(n, tensor.first != nullptr, x);
                    break;
                case Rule::lion:
                    device::lion(n, x.w, x.g, x.first);
                    break;
                case Rule::lamb:
                    lamb(n, x, of_w, of_direction);
                    break;
                case Rule::muon:
                    muon(n, x, of_direction);
                    break;
            }
            w[i] = x.w, first[i] = x.first, second[i] = x.second;
        }
        if (tensor.first != nullptr) device::store8(first, static_cast<float*>(tensor.first), at);
        if (tensor.second != nullptr) device::store8(second, static_cast<float*>(tensor.second), at);
        if (weighs && rule != Rule::lamb) device::store_weight(w, tensor, at);
    }

    // One warp a tensor, by the block that comes last; pieces in the order of their numbers for each lane,
    // lanes in a fixed order.
    __device__ __forceinline__ void find_factors() const {
        for (std::int64_t t = device::warp(); t < c.table.tensor_count; t += warps) {
            const device::TensorOfStep& tensor = c.table.tensors[t];
            const std::int64_t pieces = (tensor.count + device::step_piece - 1) / device::step_piece;
            double of_w = 0.0, of_direction = 0.0;
            for (std::int64_t i = device::lane(); i < pieces; i += 32) {
                of_w += device::fresh(whole.sums + 2 * (tensor.first_piece + i));
                of_direction += device::fresh(whole.sums + 2 * (tensor.first_piece + i) + 1);
            }
            of_w = device::warp_sum(of_w);
            of_direction = device::warp_sum(of_direction);
            if (device::lane() != 0) continue;
            double factor = 1.0;
            if (static_cast<Rule>(tensor.rule) == Rule::muon) {
                const double norm = sqrt(of_direction);
                factor = 1.0 / (norm > 1e-7 ? norm : 1e-7);
            } else if (of_w > 0.0 && of_direction > 0.0) {
                factor = sqrt(of_w / of_direction);
            }
            whole.factors[t] = static_cast<float>(factor);
        }
    }

    __device__ __forceinline__ void operator()(unsigned char* shared) const {
        if (device::refused(c)) return;
        auto* const parts = reinterpret_cast<double*>(shared + 128);
        device::over_pieces(
            c, MakeNumbers(), shared,
            [&](std::int64_t number, const device::TensorOfStep& tensor, std::int64_t first, std::int64_t end,
                const StepNumbers& n) {
                double of_w = 0.0, of_direction = 0.0;
                for (std::int64_t begin = first + device::thread() * 8; begin < end; begin += threads * 8) {
                    float eight_w = 0.0F, eight_direction = 0.0F;
                    eight(tensor, device::span_of(begin, end, tensor.aligned), n, eight_w, eight_direction);
                    of_w += static_cast<double>(eight_w);
                    of_direction += static_cast<double>(eight_direction);
                }
                if (whole.sums == nullptr) return;
                of_w = device::block_sum<warps>(of_w, parts);
                device::sync_block();
                of_direction = device::block_sum<warps>(of_direction, parts);
                device::sync_block();
                if (device::thread() != 0) return;
                whole.sums[2 * number] = of_w;
                whole.sums[2 * number + 1] = of_direction;
            });
        if (counts) return device::count_step(c, shared);
        device::sync_block();
        if (!device::last_block(&c.memory->tickets, reinterpret_cast<unsigned*>(shared))) return;
        find_factors();
        if (device::thread() == 0) c.memory->tickets = 0;
    }
};

struct SecondStepKernel {
    static constexpr int threads = device::optimizer_threads;

    device::StepCall c;
    WholeTensors whole;

    __device__ __forceinline__ void eight(const device::TensorOfStep& tensor, const Span& at,
                                          const StepNumbers& n, float trust) const {
        float w[8], first[8] = {}, second[8];
        const bool is_lamb = static_cast<Rule>(tensor.rule) == Rule::lamb;
        device::load_weight(tensor, at, w);
        if (is_lamb) device::load8(static_cast<const float*>(tensor.first), at, first);
        device::load8(static_cast<const float*>(tensor.second), at, second);
        const float rate = multiply(n.lr, trust);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            w[i] = is_lamb ? fused(-rate, fused(w[i], n.weight_decay, adam_direction(n, first[i], second[i])),
                                   w[i])
                           : fused(-rate, second[i], multiply(w[i], n.keep));
        }
        device::store_weight(w, tensor, at);
    }

    __device__ __forceinline__ void operator()(unsigned char* shared) const {
        if (device::refused(c)) return;
        device::over_pieces(c, MakeNumbers(), shared,
                            [&](std::int64_t, const device::TensorOfStep& tensor, std::int64_t first,
                                std::int64_t end, const StepNumbers& n) {
                                const Rule rule = static_cast<Rule>(tensor.rule);
                                if (rule != Rule::lamb && rule != Rule::muon) return;
                                const auto number = &tensor - c.table.tensors;
                                const float trust = rule == Rule::lamb ? whole.factors[number] : tensor.trust;
                                for (std::int64_t begin = first + device::thread() * 8; begin < end;
                                     begin += threads * 8)
                                    eight(tensor, device::span_of(begin, end, tensor.aligned), n, trust);
                            });
        device::count_step(c, shared);
    }
};

}  // namespace switchyard::fused_cuda
