// Parameters in another dtype, cast once a step and not once a call. For policies. Since 0.1.
//
//     at::Tensor MyPolicy::linear(const LinearInputs& inputs, const LinearSite& site, Saved* saved) {
//         const at::Tensor weight = casts_.cast(inputs.weight, at::kBFloat16);
//         ...
//     }
//     void MyPolicy::begin_step() { casts_.forget(); }              // and end_step
#pragma once

#include <cstdint>
#include <unordered_map>

#include <ATen/core/Tensor.h>

namespace switchyard {

class ParameterCasts {
public:
    // Undefined where `parameter` is. A cast serves while the memory holds the same values, as its version
    // counter tells, and as long as the step.
    at::Tensor cast(const at::Tensor& parameter, at::ScalarType dtype) {
        if (!parameter.defined() || parameter.scalar_type() == dtype) return parameter;
        if (parameter.is_inference()) return parameter.to(dtype);
        auto& kept = casts_[parameter.const_data_ptr()];
        const bool same = kept.copy.defined() && kept.version == parameter._version() &&
                          kept.copy.scalar_type() == dtype && kept.copy.sizes() == parameter.sizes() &&
                          kept.source.strides() == parameter.strides();
        if (!same) kept = {parameter.detach(), parameter.detach().to(dtype), parameter._version()};
        return kept.copy;
    }

    // Forgets all: parameters may change now in ways that no version counter shows.
    void forget() { casts_.clear(); }

private:
    struct Cast {
        at::Tensor source;  // keeps the memory from being somebody else's
        at::Tensor copy;
        std::int64_t version = 0;
    };
    std::unordered_map<const void*, Cast> casts_;
};

}  // namespace switchyard
