#include "emulated_fused.h"

#include <switchyard/sdk/serves.h>

#include "cuda/activation/activation_on_device.h"
#include "cuda/loss/loss_on_device.h"
#include "cuda/normalization/norm_on_device.h"

#include <local_component.h>

namespace switchyard::test {
namespace {

using G = GradientMode;
using R = RandomSource;
const auto step = local_component<Kind::optimizer, EmulatedStep>(G::none, R::none);
const auto norm = local_component<Kind::normalization, EmulatedNormalization>(G::kernel, R::counter);
const auto activation = local_component<Kind::activation, EmulatedActivation>(G::kernel, R::counter);
const auto loss = local_component<Kind::loss, EmulatedLoss>(G::kernel, R::none);

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
    Verdict verdict = for_storage(request);
    REQUIRE(verdict, request.loss == LossKind::cross_entropy, Code::Algorithm, "loss", "cross_entropy",
            name(request.loss));
    return verdict;
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
    const LocalComponent& component = kind == Kind::normalization ? norm
                                      : kind == Kind::activation  ? activation
                                      : kind == Kind::loss        ? loss
                                                                  : step;
    return component.under_test(host);
}

}  // namespace switchyard::test
