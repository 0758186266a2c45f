// The components of plugins/fused on the emulated device: their host code and their kernels, with tensors in
// ordinary memory.
#pragma once

#include <switchyard/conformance/verify.h>
#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/verdict.h>

#include "cuda/optimizer/step_on_device.h"
#include "emulated_optimizer.h"

namespace switchyard::test {

class EmulatedStep final : public EmulatedOptimizer<fused_cuda::StepOnDevice> {
public:
    using EmulatedOptimizer::EmulatedOptimizer;

    static Verdict supports(const OptimizerRequest& request, const HostInfo& host, const Options& options);
};

class EmulatedNormalization final : public Normalization {
public:
    using Normalization::Normalization;

    static Verdict supports(const NormalizationRequest& request, const HostInfo& host,
                            const Options& options);
    NormalizationOutputs forward(const NormalizationInputs& inputs, const NormalizationParams& params,
                                 Saved* saved) override;
    NormalizationGrads backward(const NormalizationParams& params, const Saved& saved,
                                const at::Tensor& grad_y, const at::Tensor& grad_sum,
                                const NormalizationNeeds& needs) override;
};

class EmulatedActivation final : public Activation {
public:
    using Activation::Activation;

    static Verdict supports(const ActivationRequest& request, const HostInfo& host, const Options& options);
    at::Tensor forward(const ActivationInputs& inputs, const ActivationParams& params, Saved* saved) override;
    ActivationGrads backward(const ActivationParams& params, const Saved& saved, const at::Tensor& grad_y,
                             const ActivationNeeds& needs) override;
};

class EmulatedLoss final : public Loss {
public:
    using Loss::Loss;

    static Verdict supports(const LossRequest& request, const HostInfo& host, const Options& options);
    LossOutputs forward(const LossInputs& inputs, const LossParams& params, Saved* saved) override;
    LossGrads backward(const LossParams& params, const Saved& saved, const at::Tensor& grad_loss,
                       const LossNeeds& needs) override;
};

conformance::ComponentUnderTest emulated_fused(Kind kind);

}  // namespace switchyard::test
