// The plainest policy: parameters and every operation in float32, nothing cached, nothing scaled.
#pragma once

#include <string>

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/precision.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class NaivePrecision final : public Precision {
public:
    using Precision::Precision;

    static Verdict supports(const PrecisionRequest& request, const HostInfo& host, const Options& options);
    DType storage(OpClass, const std::string&) const override { return DType::float32; }
    DType compute(OpClass, const std::string&) const override { return DType::float32; }
    at::Tensor linear(const LinearInputs& inputs, const LinearSite& site, Saved* saved) override;
};

}  // namespace switchyard
