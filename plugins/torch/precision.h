// Two policies: `fp32`, everything in float32, and `bf16`, what torch.autocast does for bfloat16 on CPU:
// linear layers and attention in bfloat16, weights kept in float32 and cast once, the rest in float32
// (activations stay in the type that the linear layer before them gives).
#pragma once

#include <string>
#include <unordered_map>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/precision.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class TorchFp32 final : public Precision {
public:
    using Precision::Precision;
    void* query(std::string_view id) override {
        return component_property(id, {{graph_capture_property, ""}});
    }

    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options);
    DType storage(OpClass, const std::string&) const override { return DType::float32; }
    DType compute(OpClass, const std::string&) const override { return DType::float32; }
    at::Tensor linear(const LinearInputs& inputs, const LinearSite& site, Saved* saved) override;
};

class TorchBf16 final : public Precision {
public:
    using Precision::Precision;
    void* query(std::string_view id) override {
        return component_property(id, {{graph_capture_property, ""}});
    }

    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options);
    DType storage(OpClass, const std::string&) const override { return DType::float32; }
    DType compute(OpClass op, const std::string& layer) const override;
    at::Tensor linear(const LinearInputs& inputs, const LinearSite& site, Saved* saved) override;
    void begin_step() override { casts_.clear(); }
    void end_step() override { casts_.clear(); }

private:
    // A weight and its bfloat16 copy. The copy serves while the weight is the same tensor, not changed since,
    // and as long as the step:
    // kernels that write past LibTorch's version counter may run in between two steps only.
    struct Cast {
        at::Tensor source;
        at::Tensor copy;
        std::int64_t version = 0;
        bool with_gradient = false;
    };
    at::Tensor cast(const at::Tensor& weight);

    std::unordered_map<const void*, Cast> casts_;
};

}  // namespace switchyard
