// The plainest policy: parameters and every operation in float32, nothing scaled.
#pragma once

#include <string>
#include <string_view>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/precision.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class NaivePrecision final : public Precision {
public:
    using Precision::Precision;
    void* query(std::string_view id) override {
        return component_property(id, {{thread_counts_property, ""}});
    }

    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options);
    DType storage(OpClass, const std::string&) const override { return DType::float32; }
    DType compute(OpClass, const std::string&) const override { return DType::float32; }
};

}  // namespace switchyard
