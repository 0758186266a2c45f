#include "emulated_fused.h"

#include <switchyard/sdk/plugin.h>
#include <switchyard/sdk/serves.h>

#include "cuda/activation/activation_on_device.h"
#include "cuda/loss/loss_on_device.h"
#include "cuda/normalization/norm_on_device.h"

namespace switchyard::test {
namespace {

constexpr sdk::ComponentFacts facts(const char* gradient, const char* random) {
    return {"emulated", "", "", 0, gradient, random, "exact", 0.0, "{}"};
}
constexpr sdk::ComponentFacts of_step = facts("none", "none"), of_rows = facts("kernel", "counter"),
                              of_loss = facts("kernel", "none");
const SwitchyardComponent step_entry = sdk::component<Kind::optimizer, EmulatedStep>(of_step);
const SwitchyardComponent norm_entry = sdk::component<Kind::normalization, EmulatedNormalization>(of_rows);
const SwitchyardComponent activation_entry = sdk::component<Kind::activation, EmulatedActivation>(of_rows);
const SwitchyardComponent loss_entry = sdk::component<Kind::loss, EmulatedLoss>(of_loss);

constexpr device::Queue queue{nullptr, 1};

Verdict for_storage(const Request& request) {
    Verdict verdict;
    REQUIRE(verdict, is_float_to_32_bits(request.dtype), Code::DType, "dtype", "float32, bfloat16 or float16",
            name(request.dtype));
    return verdict;
}

}  // namespace

Verdict EmulatedStep::supports(const OptimizerRequest& request, const HostInfo&, const Options&) {
    return for_storage(request);
}

Verdict EmulatedNormalization::supports(const NormalizationRequest& request, const HostInfo&,
                                        const Options&) {
    return for_storage(request);
}

NormalizationOutputs EmulatedNormalization::forward(const NormalizationInputs& inputs,
                                                    const NormalizationParams& params, Saved* saved) {
    executed();
    return fused_cuda::normalize(inputs, params, saved, queue);
}

NormalizationGrads EmulatedNormalization::backward(const NormalizationParams& params, const Saved& saved,
                                                   const at::Tensor& grad_y, const at::Tensor& grad_sum,
                                                   const NormalizationNeeds& needs) {
    return fused_cuda::normalize_backward(params, saved, grad_y, grad_sum, needs, queue);
}

Verdict EmulatedActivation::supports(const ActivationRequest& request, const HostInfo&, const Options&) {
    return for_storage(request);
}

at::Tensor EmulatedActivation::forward(const ActivationInputs& inputs, const ActivationParams& params,
                                       Saved* saved) {
    executed();
    return fused_cuda::activate(inputs, params, saved, queue);
}

ActivationGrads EmulatedActivation::backward(const ActivationParams& params, const Saved& saved,
                                             const at::Tensor& grad_y, const ActivationNeeds& needs) {
    return fused_cuda::activate_backward(params, saved, grad_y, needs, queue);
}

Verdict EmulatedLoss::supports(const LossRequest& request, const HostInfo&, const Options&) {
    return for_storage(request);
}

LossOutputs EmulatedLoss::forward(const LossInputs& inputs, const LossParams& params, Saved* saved) {
    executed();
    return fused_cuda::cross_entropy(inputs, params, saved, queue);
}

LossGrads EmulatedLoss::backward(const LossParams& params, const Saved& saved, const at::Tensor& grad_loss,
                                 const LossNeeds& needs) {
    return fused_cuda::cross_entropy_backward(params, saved, grad_loss, needs, queue);
}

conformance::ComponentUnderTest emulated_fused(Kind kind) {
    static const HostInfo host;
    const SwitchyardComponent* const entry = kind == Kind::normalization ? &norm_entry
                                             : kind == Kind::activation  ? &activation_entry
                                             : kind == Kind::loss        ? &loss_entry
                                                                         : &step_entry;
    return {"fused on emulated cuda", entry, &host, {}, ""};
}

}  // namespace switchyard::test
