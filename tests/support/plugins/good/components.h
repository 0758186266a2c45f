// The components of the test plugin `test_good`: small, plain, and each differentiated in another way.
#pragma once

#include <string>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/data_loader.h>
#include <switchyard/interfaces/verdict.h>

// GradientMode::kernel. Takes the padded layout without masks, dropout or grouped heads.
class KernelAttention final : public switchyard::Attention {
public:
    explicit KernelAttention(const switchyard::CreateInfo& info);
    static switchyard::Verdict supports(const switchyard::AttentionRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);
    switchyard::AttentionOutputs forward(const switchyard::AttentionInputs& inputs,
                                         const switchyard::AttentionParams& params,
                                         switchyard::Saved* saved) override;
    switchyard::AttentionGrads backward(const switchyard::AttentionParams& params,
                                        const switchyard::Saved& saved, const at::Tensor& grad_out,
                                        const switchyard::AttentionNeeds& needs) override;

private:
    const char* variant_;
};

// GradientMode::recompute: a forward and nothing else.
class RecomputeAttention final : public switchyard::Attention {
public:
    using Attention::Attention;
    static switchyard::Verdict supports(const switchyard::AttentionRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);
    switchyard::AttentionOutputs forward(const switchyard::AttentionInputs& inputs,
                                         const switchyard::AttentionParams& params,
                                         switchyard::Saved* saved) override;
};

// GradientMode::differentiable.
class AutogradActivation final : public switchyard::Activation {
public:
    using Activation::Activation;
    static switchyard::Verdict supports(const switchyard::ActivationRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);
    at::Tensor forward(const switchyard::ActivationInputs& inputs, const switchyard::ActivationParams& params,
                       switchyard::Saved* saved) override;
};

// GradientMode::none, Accuracy::reduced.
class RoughActivation final : public switchyard::Activation {
public:
    using Activation::Activation;
    static switchyard::Verdict supports(const switchyard::ActivationRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);
    at::Tensor forward(const switchyard::ActivationInputs& inputs, const switchyard::ActivationParams& params,
                       switchyard::Saved* saved) override;
};

class InOrderLoader final : public switchyard::DataLoader {
public:
    using DataLoader::DataLoader;
    static switchyard::Verdict supports(const switchyard::DataLoaderRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);
    void start(const switchyard::SampleSource& source, const switchyard::LoaderParams& params) override;
    std::int64_t batches(std::int64_t epoch) const override;
    bool next(switchyard::Batch& batch) override;
    switchyard::LoaderPosition position() const override { return position_; }
    void seek(const switchyard::LoaderPosition& position) override { position_ = position; }

private:
    const switchyard::SampleSource* source_ = nullptr;
    switchyard::LoaderParams params_;
    switchyard::LoaderPosition position_;
};
