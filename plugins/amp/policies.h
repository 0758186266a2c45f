// Precision policies: which dtype each class of operations computes in.
//
//     fp32       everything in float32
//     tf32       the same on CUDA, products in TensorFloat-32 (NVIDIA A100 whitepaper, 2020: 8 bits of
//                exponent, 10 of mantissa)
//     bf16       linear layers, attention and activation in bfloat16 (Kalamkar et al. 2019,
//                arXiv:1905.12322); parameters, normalization in float32
//     fp16       the same in float16, with dynamic loss scaling (Micikevicius et al. 2018, arXiv:1710.03740)
//     bf16_pure  parameters and everything else in bfloat16; the optimizer keeps float32 masters
//     fp16_pure  likewise in float16, for phases without training
//     bf16_products
//                linear layers alone in bfloat16: PyTorch's float32 matrix products of "medium" precision
//                (torch.set_float32_matmul_precision), but that a layer's result is a bfloat16, too
//
// The loss reads the logits as the last layer made them: every Loss computes in float32 inside, and float32
// copies would tell it nothing more.
//
// Whatever the dtype, the core casts parameters once a step; gradients come in the dtype of their parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/precision.h>
#include <switchyard/interfaces/verdict.h>

#include "loss_scaler.h"

namespace switchyard {

class AmpPolicy : public Precision {
public:
    using Precision::Precision;
    void* query(std::string_view id) override {
        return component_property(id, {{graph_capture_property, ""}, {thread_counts_property, ""}});
    }
};

class AmpFp32 final : public AmpPolicy {
public:
    using AmpPolicy::AmpPolicy;
    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options);
    DType storage(OpClass, const std::string&) const override { return DType::float32; }
    DType compute(OpClass, const std::string&) const override { return DType::float32; }
};

class AmpTf32 final : public AmpPolicy {
public:
    using AmpPolicy::AmpPolicy;
    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options);
    DType storage(OpClass, const std::string&) const override { return DType::float32; }
    DType compute(OpClass, const std::string&) const override { return DType::float32; }
    bool tf32(const std::string&) const override { return true; }
};

// Parameters in float32; linear layers, attention, activation and what the loss reads in `low` but where
// `keep` says not.
class AmpLow : public AmpPolicy {
public:
    DType storage(OpClass, const std::string&) const override { return DType::float32; }
    DType compute(OpClass op, const std::string& layer) const override;

protected:
    AmpLow(const CreateInfo& info, DType low);

private:
    DType low_;
    std::vector<std::string> keep_;
};

class AmpBf16 final : public AmpLow {
public:
    explicit AmpBf16(const CreateInfo& info) : AmpLow(info, DType::bfloat16) {}
    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options);
};

class AmpBf16Products final : public AmpLow {
public:
    explicit AmpBf16Products(const CreateInfo& info) : AmpLow(info, DType::bfloat16) {}
    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options) {
        return AmpBf16::supports(request, host, options);
    }
    DType compute(OpClass op, const std::string& layer) const override {
        const bool between = op == OpClass::attention || op == OpClass::activation;
        return between ? DType::float32 : AmpLow::compute(op, layer);
    }
};

class AmpFp16 final : public AmpLow {
public:
    explicit AmpFp16(const CreateInfo& info);
    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options);
    void* query(std::string_view id) override {
        if (scaler_ && id == graph_capture_property)
            return component_property(
                id, {{id, "the loss scale is kept on the host and follows what a step overflowed"}});
        return AmpLow::query(id);
    }
    double loss_scale() const override { return scaler_ ? scaler_->scale() : 1.0; }
    void update(bool found_inf) override {
        if (scaler_) scaler_->update(found_inf);
    }
    PrecisionState state() const override { return scaler_ ? scaler_->state() : PrecisionState{}; }
    void load(const PrecisionState& state) override {
        if (scaler_) scaler_->load(state);
    }

private:
    std::optional<LossScaler> scaler_;  // unless scaling was switched off
};

class AmpBf16Pure final : public AmpPolicy {
public:
    using AmpPolicy::AmpPolicy;
    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options);
    DType storage(OpClass, const std::string&) const override { return DType::bfloat16; }
    DType compute(OpClass, const std::string&) const override { return DType::bfloat16; }
};

class AmpFp16Pure final : public AmpPolicy {
public:
    using AmpPolicy::AmpPolicy;
    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options);
    DType storage(OpClass, const std::string&) const override { return DType::float16; }
    DType compute(OpClass, const std::string&) const override { return DType::float16; }
};

}  // namespace switchyard
