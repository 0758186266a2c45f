// An optimizer's step over all of its tensors in one launch, as its kernels see it. Since 1.0.
//
// Apex's multi_tensor_apply (csrc/multi_tensor_apply.cuh) hands a launch its tensors as an argument, so 36
// tensors or 320 pieces fill one; LibTorch's foreach kernels (ATen/native/cuda/MultiTensorApply.cuh) do the
// same. Here the list lies in memory of the device, as long as it need be, and blocks walk over it. As in
// LibTorch's capturable fused Adam, the number of the step, the rate's factor and the verdict on the
// gradients are read from the device, so a captured graph can run again.
//
// Sums are kept by the number of the piece and added in that order: the same bits on every device.
#pragma once

#include <switchyard/sdk/cuda/device_optimizer_table.h>
#include <switchyard/sdk/cuda/device_rows.h>

namespace switchyard::device {

__device__ __forceinline__ double value_of(const Scalar& scalar) {
    return scalar.tensor == nullptr ? scalar.number : static_cast<double>(*scalar.tensor);
}

// fmin and std::isfinite of doubles, for both compilers.
__device__ __forceinline__ bool is_finite(double x) { return x - x == 0.0; }

// One factor on every gradient, the verdict, and the norm: one pass that only reads. Squares are taken in
// double: no finite gradient overflows them.
struct NormKernel {
    static constexpr int threads = optimizer_threads;
    static constexpr int warps = threads / 32;

    NormCall c;

    __device__ __forceinline__ double squares(const PieceOfStep& piece) const {
        const TensorOfStep& tensor = c.table.tensors[piece.tensor];
        const std::int64_t first = piece.number * step_piece;
        const std::int64_t end = first + step_piece < tensor.count ? first + step_piece : tensor.count;
        double sum = 0.0;
        for (std::int64_t begin = first + thread() * vector_values; begin < end;
             begin += threads * vector_values) {
            float g[8];
            load8(tensor.gradient_type, tensor.gradient, span_of(begin, end, tensor.aligned), g);
#pragma unroll
            for (int i = 0; i < 8; ++i) sum += static_cast<double>(g[i]) * static_cast<double>(g[i]);
        }
        return sum;
    }

    __device__ __forceinline__ void decide(double sum) const {
        const double inverse = 1.0 / value_of(c.grad_scale), norm = sqrt(sum) * inverse;
        const double clip = c.max_grad_norm / (norm + 1e-6);
        const bool clips = c.max_grad_norm > 0.0 && clip < 1.0;
        c.memory->factor = static_cast<float>(clips ? inverse * clip : inverse);
        c.memory->found_inf = is_finite(sum) ? 0.0F : 1.0F;
        c.memory->tickets = 0;
        *c.grad_norm = static_cast<float>(norm);
        if (c.found_inf != nullptr) *c.found_inf = c.memory->found_inf;
    }

    __device__ __forceinline__ void operator()(unsigned char* shared) const {
        auto* const parts = reinterpret_cast<double*>(shared);
        for (std::int64_t i = block(); i < c.table.piece_count; i += blocks()) {
            const double sum = block_sum<warps>(squares(c.table.pieces[i]), parts);
            if (thread() == 0) c.sums[i] = sum;
            sync_block();
        }
        if (!last_block(&c.memory->tickets, reinterpret_cast<unsigned*>(shared))) return;
        sync_block();
        double sum = 0.0;
        for (std::int64_t i = thread(); i < c.table.piece_count; i += threads) sum += fresh(c.sums + i);
        sum = block_sum<warps>(sum, parts);
        if (thread() == 0) decide(sum);
    }
};

// What the rules of a step need of a group, where the step is the t-th: products and sums are rounded where
// those of the CPU's rows are.
struct StepNumbers {
    float gradient_factor, lr, keep;   // keep: 1 - lr * weight_decay
    float beta1, rest1, beta2, rest2;  // rest: 1 - beta
    float unbias2, eps;                // 1 / sqrt(1 - beta2^t)
};

__device__ __forceinline__ StepNumbers step_numbers(const GroupOfStep& group, double step, double lr,
                                                    float gradient_factor) {
    StepNumbers n;
    n.gradient_factor = gradient_factor;
    n.lr = static_cast<float>(lr);
    n.keep = static_cast<float>(1.0 - lr * group.weight_decay);
    n.beta1 = static_cast<float>(group.beta1);
    n.rest1 = static_cast<float>(1.0 - group.beta1);
    n.beta2 = static_cast<float>(group.beta2);
    n.rest2 = static_cast<float>(1.0 - group.beta2);
    n.unbias2 = static_cast<float>(1.0 / sqrt(1.0 - pow(group.beta2, step)));
    n.eps = static_cast<float>(group.eps);
    return n;
}

// A gradient into Adam's two moments.
__device__ __forceinline__ void take_in(const StepNumbers& n, float g, float& m, float& v) {
    m = fused(m, n.beta1, multiply(g, n.rest1));
    v = fused(v, n.beta2, multiply(multiply(g, g), n.rest2));
}

__device__ __forceinline__ void lion(const StepNumbers& n, float& w, float g, float& m) {
    g = multiply(g, n.gradient_factor);
    const float c = fused(m, n.beta1, multiply(g, n.rest1));
    m = fused(m, n.beta2, multiply(g, n.rest2));
    w = add(multiply(w, n.keep), -(c == 0.0F ? 0.0F : copysignf(n.lr, c)));
}

__device__ __forceinline__ bool refused(const StepCall& c) { return c.looked && c.memory->found_inf != 0.0F; }

// body(number of the piece, tensor, first value, end, numbers), where `numbers` are what make(group, step,
// lr_factor, gradient_factor) returns, computed by one thread where the group changes: Make::Numbers, for
// which there is room at `shared`. All threads of a block call it.
template <class Make, class Body>
__device__ __forceinline__ void over_pieces(const StepCall& c, const Make& make, unsigned char* shared,
                                            const Body& body) {
    auto* const numbers = reinterpret_cast<typename Make::Numbers*>(shared);
    std::int32_t known = -1;
    for (std::int64_t i = block(); i < c.table.piece_count; i += blocks()) {
        const PieceOfStep piece = c.table.pieces[i];
        const TensorOfStep& tensor = c.table.tensors[piece.tensor];
        if (tensor.group != known) {
            sync_block();
            if (thread() == 0) {
                const float factor =
                    c.looked ? c.memory->factor : static_cast<float>(1.0 / value_of(c.grad_scale));
                *numbers = make(c.table.groups[tensor.group], static_cast<double>(c.memory->step + 1),
                                value_of(c.lr_factor), factor);
            }
            sync_block();
            known = tensor.group;
        }
        const std::int64_t first = piece.number * step_piece;
        body(i, tensor, first, first + step_piece < tensor.count ? first + step_piece : tensor.count,
             *numbers);
    }
}

// At the end of a step's last launch. Every block has read the number of the step before it takes its ticket.
__device__ __forceinline__ void count_step(const StepCall& c, unsigned char* shared) {
    sync_block();
    if (!last_block(&c.memory->tickets, reinterpret_cast<unsigned*>(shared)) || thread() != 0) return;
    c.memory->step += 1;
    c.memory->tickets = 0;
}

// The weight that a step updates: the master weight where there is one, and the value is its rounding.
__device__ __forceinline__ void load_weight(const TensorOfStep& tensor, const Span& at, float (&w)[8]) {
    if (tensor.master != nullptr) return load8(tensor.master, at, w);
    load8(tensor.value_type, tensor.value, at, w);
}
__device__ __forceinline__ void store_weight(const float (&w)[8], const TensorOfStep& tensor,
                                             const Span& at) {
    if (tensor.master != nullptr) store8(w, tensor.master, at);
    store8(w, tensor.value_type, tensor.value, at);
}

}  // namespace switchyard::device
