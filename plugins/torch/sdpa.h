// One call of LibTorch's scaled_dot_product_attention that also tells which of its kernels ran.
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace switchyard {

// q_BHND, k_BKMD, v_BKME; see <switchyard/interfaces/attention.h> for the letters.
enum class SdpaKernel : std::uint8_t { picked, flash, math };

struct SdpaArguments {
    const at::Tensor& q;
    const at::Tensor& k;
    const at::Tensor& v;
    std::optional<at::Tensor> mask =
        std::nullopt;  // additive, broadcastable to [B, H, N, M], 4 dimensions; not together with `causal`
    double dropout = 0.0;
    bool causal = false;
    std::optional<double> scale = std::nullopt;
    SdpaKernel kernel = SdpaKernel::picked;  // flash: on CPU only, for what the kernel serves
    bool want_lse = false;
};

struct SdpaResult {
    at::Tensor out;
    at::Tensor lse;           // float32 (float64 for float64) [B, H, N] if it was wanted
    const char* kernel = "";  // a variant of plugin.toml
};

SdpaResult scaled_dot_product_attention(const SdpaArguments& arguments);

}  // namespace switchyard
