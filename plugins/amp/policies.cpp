#include "policies.h"

#include <switchyard/sdk/name_pattern.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {
namespace {

void require_parameters(Verdict& verdict, const PrecisionRequest& request, DType dtype) {
    REQUIRE(verdict, request.dtype == dtype, Code::DType, "dtype",
            std::string(name(dtype)) + " (parameters as the model stores them)", name(request.dtype));
}

void require_no_scaling(Verdict& verdict, const PrecisionRequest& request) {
    REQUIRE(verdict, !request.loss_scaling, Code::Option, "loss_scaling",
            "false (its range needs no loss scale)", "true");
}

void require_capability(Verdict& verdict, const PrecisionRequest& request, const HostInfo& host, int least,
                        const std::string& why) {
    const auto* device = host.first(Device::cuda);
    if (request.device != Device::cuda || device == nullptr) return;
    REQUIRE(verdict, device->compute_capability >= least, Code::Device, "compute_capability",
            std::to_string(least) + " or more " + why, device->compute_capability);
}

LossScaler::Settings scaling_of(const Options& options) {
    return {options.number("init_scale"), options.number("growth_factor"), options.number("backoff_factor"),
            options.integer("growth_interval")};
}

}  // namespace

Verdict AmpFp32::supports(const PrecisionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_parameters(verdict, request, DType::float32);
    require_no_scaling(verdict, request);
    require_device(verdict, request, host);
    return verdict;
}

Verdict AmpTf32::supports(const PrecisionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_parameters(verdict, request, DType::float32);
    require_no_scaling(verdict, request);
    require_device(verdict, request, host);
    REQUIRE(verdict, request.device == Device::cuda, Code::Device, "device",
            "cuda (TensorFloat-32 is a mode of its tensor cores)", name(request.device),
            "take fp32 or bf16 on a CPU");
    require_capability(verdict, request, host, 80, "for TensorFloat-32");
    return verdict;
}

AmpLow::AmpLow(const CreateInfo& info, DType low)
    : AmpPolicy(info), low_(low), keep_(info.options.list("keep")) {}

DType AmpLow::compute(OpClass op, const std::string& layer) const {
    const bool low =
        op == OpClass::linear || op == OpClass::attention || op == OpClass::activation || op == OpClass::loss;
    return low && !matches_any(keep_, layer) ? low_ : DType::float32;
}

Verdict AmpBf16::supports(const PrecisionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_parameters(verdict, request, DType::float32);
    require_no_scaling(verdict, request);
    require_device(verdict, request, host);
    require_capability(verdict, request, host, 80, "for bfloat16");
    return verdict;
}

AmpFp16::AmpFp16(const CreateInfo& info) : AmpLow(info, DType::float16) {
    if (KindTraits<Kind::precision>::request(*info.request).loss_scaling)
        scaler_.emplace(scaling_of(info.options));
}

Verdict AmpFp16::supports(const PrecisionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_parameters(verdict, request, DType::float32);
    require_device(verdict, request, host);
    require_capability(verdict, request, host, 70, "for float16");
    return verdict;
}

Verdict AmpBf16Pure::supports(const PrecisionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_parameters(verdict, request, DType::bfloat16);
    require_no_scaling(verdict, request);
    require_device(verdict, request, host);
    require_capability(verdict, request, host, 80, "for bfloat16");
    return verdict;
}

Verdict AmpFp16Pure::supports(const PrecisionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_parameters(verdict, request, DType::float16);
    require_no_scaling(verdict, request);
    REQUIRE(verdict, request.phase != Phase::train, Code::Phase, "phase",
            "no training (steps of an optimizer are often smaller than float16 can add)", name(request.phase),
            "train with fp16 or bf16_pure: its weights can be used in any precision");
    require_device(verdict, request, host);
    require_capability(verdict, request, host, 70, "for float16");
    return verdict;
}

}  // namespace switchyard
