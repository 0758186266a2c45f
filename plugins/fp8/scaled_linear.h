// Linear layers on float8 operands (product.h), and on bfloat16 ones where a policy leaves a product to them.
#pragma once

#include <string_view>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class ScaledLinear final : public Linear {
public:
    using Linear::Linear;
    static Verdict supports(const LinearRequest& request, const HostInfo& host, const Options& options,
                            std::string_view variant);

    at::Tensor forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) override;
    at::Tensor input_gradient(const LinearOperand& grad, const LinearWeight& weight) override;
    at::Tensor weight_gradient(const LinearOperand& grad, const LinearOperand& x) override;

    void* query(std::string_view id) override {
        return component_property(id, {{graph_capture_property, ""}, {computes_in_property, computed_in_}});
    }

private:
    const char* computed_in_ = nullptr;  // in the last call; nullptr: as LibTorch's products are seen
};

}  // namespace switchyard
