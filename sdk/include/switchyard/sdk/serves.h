// Conditions that most components have alike, for `supports`: components on plain ATen serve these types on
// the host's devices.
//
//     #include <switchyard/sdk/serves.h>
//
//     Verdict MyActivation::supports(const ActivationRequest& request, const HostInfo& host, const Options&)
//       {
//         Verdict verdict;
//         require_native(verdict, request, host);
//         REQUIRE(verdict, request.activation == ActivationKind::relu, Code::Algorithm, ...);
//         return verdict;
//     }
//
// Included by sources that define `supports` and by nothing else (interfaces/require.h says why).
#pragma once

#include <string>

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/request.h>
#include <switchyard/interfaces/require.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

// LibTorch has kernels for these types on every device: float32, float64, bfloat16, float16.
constexpr bool is_native_float(DType dtype) {
    return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::bfloat16 ||
           dtype == DType::float16;
}

// What kernels on floats in registers store: float32, bfloat16, float16.
constexpr bool is_float_to_32_bits(DType dtype) {
    return dtype == DType::float32 || dtype == DType::bfloat16 || dtype == DType::float16;
}

// The request's device is the CPU, or one that the host has. `host` may be described, not this machine:
// nothing is asked of a driver.
inline void require_device(Verdict& verdict, const Request& request, const HostInfo& host) {
    REQUIRE(verdict, request.device == Device::cpu || host.first(request.device) != nullptr, Code::Device,
            "device", "cpu, or cuda on a host that has such a device", name(request.device),
            "set run.device = \"cpu\", or plan for a host with a device");
}

// A native float on such a device. Both are told if both fail.
inline void require_native(Verdict& verdict, const Request& request, const HostInfo& host) {
    REQUIRE(verdict, is_native_float(request.dtype), Code::DType, "dtype",
            "float32, float64, bfloat16 or float16", name(request.dtype));
    require_device(verdict, request, host);
}

// Linear layers whose operands and results are dense and all of the request's dtype.
inline void require_dense(Verdict& verdict, const LinearRequest& request) {
    REQUIRE(verdict, request.weight_format == WeightFormat::dense, Code::DType, "weight_format",
            "dense (operands without scales)", name(request.weight_format));
    REQUIRE(verdict, request.weight_dtype == request.dtype, Code::DType, "weight_dtype",
            "the dtype of x, " + std::string(name(request.dtype)), name(request.weight_dtype));
    REQUIRE(verdict, request.output_dtype == request.dtype, Code::DType, "output_dtype",
            "the dtype of x, " + std::string(name(request.dtype)), name(request.output_dtype));
}

// Quantized weights are not trained.
inline void require_without_gradient(Verdict& verdict, const LinearRequest& request) {
    REQUIRE(verdict, !request.needs_grad, Code::Gradient, "needs_grad", "false with a quantized weight",
            "true", "train the model that was quantized, with int8/fake_quantized to get it used to it");
}

// Every mask that there was when the component was built: a later host may ask for one that it does not know.
constexpr MaskSet known_masks = {MaskKind::causal,         MaskKind::key_lengths, MaskKind::documents,
                                 MaskKind::sliding_window, MaskKind::prefix,      MaskKind::alibi,
                                 MaskKind::relative_bias,  MaskKind::dense_bias,  MaskKind::soft_cap};

// A dense bias has the shape [B, H, N, M], which packed sequences do not have.
inline void require_padded_dense_bias(Verdict& verdict, const AttentionRequest& request) {
    REQUIRE(verdict, request.layout == Layout::padded || !request.masks.has(MaskKind::dense_bias),
            Code::Layout, "layout", "padded with a dense bias", name(request.layout));
}

inline void require_known_masks(Verdict& verdict, const AttentionRequest& request) {
    REQUIRE(verdict, request.masks.within(known_masks), Code::Mask, "masks", "masks known to this plugin",
            request.masks);
}

// Attention with every mask, on keys and values that lie end to end.
inline void require_any_mask(Verdict& verdict, const AttentionRequest& request) {
    require_known_masks(verdict, request);
    REQUIRE(verdict, !request.paged_cache, Code::Layout, "paged_cache",
            "false (keys and values lie end to end)", "true");
    require_padded_dense_bias(verdict, request);
}

// ATen sums the gradient of a looked-up table with atomic additions on a device.
inline void require_deterministic_bias_sums(Verdict& verdict, const AttentionRequest& request) {
    REQUIRE(verdict, request.device == Device::cpu || !request.deterministic || !request.bias_gradient,
            Code::Determinism, "deterministic",
            "false on cuda with a gradient of the bias table (its sums are taken atomically)", "true");
}

}  // namespace switchyard
