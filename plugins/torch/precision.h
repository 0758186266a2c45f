// Two policies: `fp32`, everything in float32, and `bf16`, what torch.autocast does for bfloat16 on CPU:
// linear layers and attention in bfloat16, parameters kept in float32, the rest in float32 (activations stay
// in the type that the linear layer before them gives).
#pragma once

#include <string>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/precision.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class TorchFp32 final : public Precision {
public:
    using Precision::Precision;
    void* query(std::string_view id) override {
        return component_property(id, {{graph_capture_property, ""}, {thread_counts_property, ""}});
    }

    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options);
    DType storage(OpClass, const std::string&) const override { return DType::float32; }
    DType compute(OpClass, const std::string&) const override { return DType::float32; }
};

class TorchBf16 final : public Precision {
public:
    using Precision::Precision;
    void* query(std::string_view id) override {
        return component_property(id, {{graph_capture_property, ""}, {thread_counts_property, ""}});
    }

    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options);
    DType storage(OpClass, const std::string&) const override { return DType::float32; }
    DType compute(OpClass op, const std::string& layer) const override;
};

}  // namespace switchyard
