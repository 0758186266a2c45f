#include <string>

#include <switchyard/sdk/serves.h>

#include "policy.h"
#include "scaled_linear.h"

namespace switchyard {
namespace {

void judge_device(Verdict& verdict, const Request& request, const HostInfo& host) {
    require_device(verdict, request, host);
    const auto* device = host.first(Device::cuda);
    if (device != nullptr)
        REQUIRE(verdict, device->compute_capability == 90, Code::Device, "compute_capability",
                "90 (Hopper's products in float8)", device->compute_capability, "take amp/bf16");
    REQUIRE(verdict, SWITCHYARD_PLUGIN_CUDA == 1 || host.described, Code::Library, "cuda",
            "a plugin built with nvcc", "built without",
            "build it where nvcc is found: `./dev build` says what it looked for");
}

}  // namespace

Verdict Fp8Policy::supports(const PrecisionRequest& request, const HostInfo& host, const Options& options,
                            std::string_view variant) {
    Verdict verdict;
    REQUIRE(verdict, request.dtype == DType::float32, Code::DType, "dtype",
            "float32 (parameters as the model stores them)", name(request.dtype),
            "set precision.parameter_dtype = \"float32\"");
    REQUIRE(verdict, !request.loss_scaling, Code::Option, "loss_scaling",
            "false (gradients have scales of their own)", "true");
    REQUIRE(verdict, variant.empty(), Code::Variant, "variant",
            "none: whether a layer is multiplied in float8 is decided by name and size", variant);
    REQUIRE(verdict, options.string("scale") == "tensor" || options.string("recipe") == "current",
            Code::Option, "scale",
            "tensor with recipe " + options.string("recipe") + "; row goes with recipe current alone", "row");
    if (request.device == Device::cuda) {
        judge_device(verdict, request, host);
        return verdict;
    }
    REQUIRE(
        verdict, options.boolean("cpu_reference"), Code::Option, "cpu_reference",
        "true on a cpu, which has no products in float8: there the same numbers are computed as a reference, "
        "slower than in float32",
        "false", "set precision.options.fp8.cpu_reference = true, or take amp/bf16");
    return verdict;
}

Verdict ScaledLinear::supports(const LinearRequest& request, const HostInfo& host, const Options&,
                               std::string_view variant) {
    Verdict verdict;
    REQUIRE(verdict, request.weight_format == WeightFormat::scaled, Code::DType, "weight_format",
            "scaled (operands in float8, as the precision policy fp8 makes them)",
            name(request.weight_format));
    REQUIRE(verdict, request.dtype == DType::float8_e4m3fn, Code::DType, "dtype", "float8_e4m3fn",
            name(request.dtype));
    REQUIRE(verdict, request.weight_dtype == DType::float8_e4m3fn, Code::DType, "weight_dtype",
            "float8_e4m3fn", name(request.weight_dtype));
    REQUIRE(verdict, request.output_dtype == DType::bfloat16, Code::DType, "output_dtype", "bfloat16",
            name(request.output_dtype));
    REQUIRE(verdict, variant.empty(), Code::Variant, "variant", "none: sizes and operands decide what runs",
            variant);
    // The policy that makes such operands is asked for by name on a device.
    if (request.device == Device::cuda) judge_device(verdict, request, host);
    return verdict;
}

}  // namespace switchyard
