// LayerNorm (Ba, Kiros, Hinton 2016, arXiv:1607.06450) and RMSNorm (Zhang & Sennrich 2019, arXiv:1910.07467),
// of x or of residual + x. On a CUDA device a warp takes a row, reads it once and 16 bytes at a time, and
// sums by shuffles: no shared memory, and no thread waits for another warp. On the CPU it is a loop.
#pragma once

#include <memory>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/verdict.h>

class WarpNorm final : public switchyard::Normalization {
public:
    explicit WarpNorm(const switchyard::CreateInfo& info);

    static switchyard::Verdict supports(const switchyard::NormalizationRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);

    switchyard::NormalizationOutputs forward(const switchyard::NormalizationInputs& inputs,
                                             const switchyard::NormalizationParams& params,
                                             switchyard::Saved* saved) override;

    void* query(std::string_view question) override {
        using namespace switchyard;
        return component_property(question, {{computes_in_property, "fp32"}, {thread_counts_property, ""}});
    }

private:
    std::unique_ptr<switchyard::Normalization> on_cuda_;  // warp_norm_cuda.cpp; or nullptr
};
