// Mish (Misra 2019, arXiv:1908.08681): y = x tanh(log(1 + e^x)).
#pragma once

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>

class Mish final : public switchyard::Activation {
public:
    using Activation::Activation;

    // Pure: looks at the request and the host, touches no tensor and no device. Says all that is in the way.
    static switchyard::Verdict supports(const switchyard::ActivationRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);

    at::Tensor forward(const switchyard::ActivationInputs& inputs, const switchyard::ActivationParams& params,
                       switchyard::Saved* saved) override;
    switchyard::ActivationGrads backward(const switchyard::ActivationParams& params,
                                         const switchyard::Saved& saved, const at::Tensor& grad_y,
                                         const switchyard::ActivationNeeds& needs) override;
};
