// On CPU the composite that a user calls asks `_fused_sdp_choice` and calls the kernel; the same two calls
// are made here, so that the kernel is known without asking twice. On CUDA the composite also pads and
// slices, so it is called itself, and the choice is asked once for each kind of call.
#include "sdpa.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <switchyard/sdk/cuda/aligned_rows.h>

namespace switchyard {
namespace {

using at::Tensor;

const char* kernel_name(std::int64_t choice) {
    switch (static_cast<at::SDPBackend>(choice)) {
        case at::SDPBackend::flash_attention:
            return "flash";
        case at::SDPBackend::efficient_attention:
            return "efficient";
        case at::SDPBackend::cudnn_attention:
            return "cudnn";
        case at::SDPBackend::overrideable:
            return "overrideable";
        default:
            return "math";
    }
}

bool grouped(const SdpaArguments& a) { return a.q.size(1) != a.k.size(1); }

std::int64_t choose(const SdpaArguments& a) {
    return at::_fused_sdp_choice(a.q, a.k, a.v, a.mask, a.dropout, a.causal, a.scale, grouped(a));
}

// All that LibTorch's choice on CUDA depends on: shapes, strides, dtypes, who needs a gradient, switches of
// the process.
struct KnownChoice {
    std::array<std::vector<std::int64_t>, 4> sizes, strides;
    std::int64_t flags = 0;
    std::int64_t choice = 0;
};

std::array<const Tensor*, 4> tensors_of(const SdpaArguments& a) {
    return {&a.q, &a.k, &a.v, a.mask ? &*a.mask : nullptr};
}

std::int64_t flags_of(const SdpaArguments& a) {
    const auto& context = at::globalContext();
    const std::array<bool, 8> switches = {a.dropout > 0.0,
                                          a.causal,
                                          at::GradMode::is_enabled(),
                                          context.deterministicAlgorithms(),
                                          context.userEnabledFlashSDP(),
                                          context.userEnabledMemEfficientSDP(),
                                          context.userEnabledCuDNNSDP(),
                                          context.userEnabledMathSDP()};
    std::int64_t flags = (static_cast<std::int64_t>(a.q.scalar_type()) << 16) |
                         (static_cast<std::int64_t>(a.q.get_device()) << 32);
    for (std::size_t i = 0; i < switches.size(); ++i) flags |= static_cast<std::int64_t>(switches[i]) << i;
    const auto tensors = tensors_of(a);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i] != nullptr && tensors[i]->requires_grad()) flags |= std::int64_t{256} << i;
    }
    return flags;
}

bool same(const KnownChoice& known, const SdpaArguments& a, std::int64_t flags) {
    if (known.flags != flags) return false;
    const auto tensors = tensors_of(a);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i] == nullptr ? !known.sizes[i].empty()
                                  : tensors[i]->sizes() != at::IntArrayRef(known.sizes[i]) ||
                                        tensors[i]->strides() != at::IntArrayRef(known.strides[i])) {
            return false;
        }
    }
    return true;
}

std::int64_t choose_on_cuda(const SdpaArguments& a) {
    thread_local std::vector<KnownChoice> choices;
    const auto flags = flags_of(a);
    for (const auto& known : choices) {
        if (same(known, a, flags)) return known.choice;
    }
    if (choices.size() >= 64) choices.clear();
    KnownChoice known;
    known.flags = flags;
    known.choice = choose(a);
    const auto tensors = tensors_of(a);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i] == nullptr) continue;
        known.sizes[i] = tensors[i]->sizes().vec();
        known.strides[i] = tensors[i]->strides().vec();
    }
    choices.push_back(std::move(known));
    return choices.back().choice;
}

// The log-sum-exp is no output of the math kernel, and that of the flash kernel is off by 6e-5 for 16-bit
// inputs, whose exponentials it takes as exactly as 16 bits need: it is computed beside them.
Tensor log_sum_exp(const SdpaArguments& a) {
    const at::NoGradGuard no_grad;
    const auto type = a.q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const auto groups = a.q.size(1) / std::max<std::int64_t>(a.k.size(1), 1);
    const auto k = groups > 1 ? a.k.repeat_interleave(groups, 1) : a.k;
    const auto scale = a.scale.value_or(1.0 / std::sqrt(static_cast<double>(a.q.size(3))));
    auto scores = at::matmul(a.q.to(type).mul(scale), k.to(type).transpose(2, 3));
    constexpr auto none = -std::numeric_limits<double>::infinity();
    if (a.mask) scores = scores.add(a.mask->to(type));
    if (a.causal) {
        scores.masked_fill_(at::ones({a.q.size(2), k.size(2)}, a.q.options().dtype(at::kBool)).triu_(1),
                            none);
    }
    return at::logsumexp(scores, {-1});
}

// The flash kernel gives 0 for a query without a key, where the contract wants -inf.
Tensor with_empty_rows(const Tensor& lse, const std::optional<Tensor>& mask) {
    const at::NoGradGuard no_grad;
    constexpr auto none = -std::numeric_limits<double>::infinity();
    const auto result = lse.detach();
    return mask ? result.masked_fill(at::amax(*mask, {-1}).eq(none), none) : result;
}

// The flash kernel reads rows without steps in them. LibTorch picks it for no others; who asks for it by name
// gets them copied.
Tensor with_dense_rows(const Tensor& tensor, SdpaKernel kernel) {
    return kernel == SdpaKernel::picked || tensor.stride(3) == 1 ? tensor : tensor.contiguous();
}

SdpaResult on_cpu(const SdpaArguments& a) {
    SdpaResult result;
    const bool flash = a.kernel == SdpaKernel::picked
                           ? choose(a) == static_cast<std::int64_t>(at::SDPBackend::flash_attention)
                           : a.kernel == SdpaKernel::flash;
    result.kernel = flash ? "flash" : "math";
    if (flash) {
        std::tie(result.out, result.lse) = at::_scaled_dot_product_flash_attention_for_cpu(
            with_dense_rows(a.q, a.kernel), with_dense_rows(a.k, a.kernel), with_dense_rows(a.v, a.kernel),
            a.dropout, a.causal, a.mask, a.scale);
        if (!a.want_lse) {
            result.lse = Tensor();
        } else if (a.q.scalar_type() == at::kBFloat16 || a.q.scalar_type() == at::kHalf) {
            result.lse = log_sum_exp(a);
        } else {
            result.lse = with_empty_rows(result.lse, a.mask);
        }
        return result;
    }
    result.out = std::get<0>(at::_scaled_dot_product_attention_math(
        a.q, a.k, a.v, a.mask, a.dropout, a.causal, std::nullopt, a.scale, grouped(a)));
    if (a.want_lse) result.lse = log_sum_exp(a);
    return result;
}

// LibTorch's kernels read 16 bytes at a time from wherever rows begin. Rows that are no multiple of that it
// pads itself.
Tensor readable(const Tensor& x) {
    return x.size(-1) * x.element_size() % 16 == 0 ? with_aligned_rows(x) : x;
}

// With a mask tensor cuDNN gives wrong gradients at some lengths (pytorch/pytorch issue 196678; on an H200,
// 47 queries, 40 keys): LibTorch picks among its own kernels while one of these lives. The switch is the
// process's, so what it was is kept for all threads that are in here.
class WithoutCudnn {
public:
    WithoutCudnn() {
        const std::lock_guard<std::mutex> lock(mutex);
        if (inside++ > 0) return;
        before = at::globalContext().userEnabledCuDNNSDP();
        at::globalContext().setSDPUseCuDNN(false);
    }
    ~WithoutCudnn() {
        const std::lock_guard<std::mutex> lock(mutex);
        if (--inside == 0) at::globalContext().setSDPUseCuDNN(before);
    }
    WithoutCudnn(const WithoutCudnn&) = delete;
    WithoutCudnn& operator=(const WithoutCudnn&) = delete;

private:
    static inline std::mutex mutex;
    static inline int inside = 0;
    static inline bool before = false;
};

bool wants_gradient(const SdpaArguments& a) {
    return at::GradMode::is_enabled() && (a.q.requires_grad() || a.k.requires_grad() || a.v.requires_grad() ||
                                          (a.mask && a.mask->requires_grad()));
}

SdpaResult on_cuda(const SdpaArguments& given) {
    const Tensor q = readable(given.q), k = readable(given.k), v = readable(given.v);
    std::optional<Tensor> mask = given.mask;
    if (mask) *mask = readable(*mask);
    const SdpaArguments a{
        q, k, v, mask, given.dropout, given.causal, given.scale, given.kernel, given.want_lse};
    SdpaResult result;
    const bool empty = q.numel() == 0 || k.numel() == 0;  // the composite gives no output then
    if (a.kernel == SdpaKernel::math || empty) {
        result.kernel = "math";
        result.out = std::get<0>(at::_scaled_dot_product_attention_math(
            a.q, a.k, a.v, a.mask, a.dropout, a.causal, std::nullopt, a.scale, grouped(a)));
    } else {
        std::optional<WithoutCudnn> own_kernels;
        if (a.mask && wants_gradient(a)) own_kernels.emplace();
        result.kernel = kernel_name(choose_on_cuda(a));
        result.out =
            at::scaled_dot_product_attention(a.q, a.k, a.v, a.mask, a.dropout, a.causal, a.scale, grouped(a));
    }
    if (result.out.requires_grad())
        result.out.register_hook([](const Tensor& grad) { return readable(grad); });
    if (a.want_lse) result.lse = log_sum_exp(a);
    return result;
}

}  // namespace

SdpaResult scaled_dot_product_attention(const SdpaArguments& arguments) {
    return arguments.q.is_cpu() ? on_cpu(arguments) : on_cuda(arguments);
}

}  // namespace switchyard
