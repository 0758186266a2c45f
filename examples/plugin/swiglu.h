// SwiGLU (Shazeer 2020, arXiv:2002.05202): y = silu(gate) * value, with gate and value the two halves of x's
// last dimension.
#pragma once

#include <cstdint>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/verdict.h>

class SwiGlu final : public switchyard::Activation {
public:
    explicit SwiGlu(const switchyard::CreateInfo& info);

    // Pure: looks at the request and the host, touches no tensor and no device. Says all that is in the way.
    static switchyard::Verdict supports(const switchyard::ActivationRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);

    at::Tensor forward(const switchyard::ActivationInputs& inputs, const switchyard::ActivationParams& params,
                       switchyard::Saved* saved) override;
    switchyard::ActivationGrads backward(const switchyard::ActivationParams& params,
                                         const switchyard::Saved& saved, const at::Tensor& grad_y,
                                         const switchyard::ActivationNeeds& needs) override;
    // What `switchyard precision` shows of its kernels.
    void* query(std::string_view question) override {
        return switchyard::component_property(question, {{switchyard::computes_in_property, "fp32"}});
    }

private:
    std::int64_t grain_;
};
