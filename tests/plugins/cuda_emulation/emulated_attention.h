// The CUDA attention of plugins/flash as a component for the CPU: the plugin's own host code and kernels,
// launched on the emulator.
#pragma once

#include <switchyard/conformance/verify.h>
#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/verdict.h>

#include "attention_on_device.h"

namespace switchyard::test {

class EmulatedAttention final : public Attention {
public:
    using Attention::Attention;

    static Verdict supports(const AttentionRequest& request, const HostInfo& host, const Options& options);
    AttentionOutputs forward(const AttentionInputs& inputs, const AttentionParams& params,
                             Saved* saved) override;
    AttentionGrads backward(const AttentionParams& params, const Saved& saved, const at::Tensor& grad_out,
                            const AttentionNeeds& needs) override;

private:
    flash_cuda::AttentionOnDevice device_;
};

// A host with a device of compute capability 9.0.
const HostInfo& emulated_host();
conformance::ComponentUnderTest emulated_attention();

}  // namespace switchyard::test
