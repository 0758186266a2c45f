#include <string>

#include <switchyard/sdk/serves.h>

#include "policy.h"

namespace switchyard {
namespace {

void judge_device(Verdict& verdict, const PrecisionRequest& request, const HostInfo& host,
                  const Options& options) {
    require_device(verdict, request, host);
    const auto* device = host.first(Device::cuda);
    if (device != nullptr)
        REQUIRE(verdict, device->compute_capability == 90, Code::Device, "compute_capability",
                "90 (Hopper's products in float8)", device->compute_capability, "take amp/bf16");
    REQUIRE(verdict, SWITCHYARD_PLUGIN_CUDA == 1 || host.described, Code::Library, "cuda",
            "a plugin built with nvcc", "built without",
            "build it where nvcc is found: `./dev build` says what it looked for");
    REQUIRE(verdict, options.boolean("untried_device"), Code::Option, "untried_device",
            "true (no device has run this yet)", "false", "set precision.options.fp8.untried_device = true");
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
        judge_device(verdict, request, host, options);
        return verdict;
    }
    REQUIRE(
        verdict, options.boolean("cpu_reference"), Code::Option, "cpu_reference",
        "true on a cpu, which has no products in float8: there the same numbers are computed as a reference, "
        "slower than in float32",
        "false", "set precision.options.fp8.cpu_reference = true, or take amp/bf16");
    return verdict;
}

}  // namespace switchyard
