// Quantization-aware training: products of weights and inputs that went through 8 or 4 bits and back, with
// gradients that pass that by as if it were the identity (straight-through: Bengio et al. 2013, Estimating or
// Propagating Gradients Through Stochastic Neurons, arXiv:1308.3432; Jacob et al. 2018, arXiv:1712.05877).
// Ranges are those of the present values, so that nothing is cut off and every gradient passes.
//
//     y = q(x) q(w)^T + bias     the gradient of x = grad q(w)     the gradient of w = grad^T q(x)
#pragma once

#include <string>
#include <string_view>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class FakeQuantized final : public Linear {
public:
    explicit FakeQuantized(const CreateInfo& info);
    static Verdict supports(const LinearRequest& request, const HostInfo& host, const Options& options,
                            std::string_view variant);

    at::Tensor forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) override;
    at::Tensor input_gradient(const LinearOperand& grad, const LinearWeight& weight) override;
    at::Tensor weight_gradient(const LinearOperand& grad, const LinearOperand& x) override;
    PreparedWeight prepare(const at::Tensor& weight_OI, bool for_gradient) override;
    void* query(std::string_view id) override {
        return component_property(id, {{weight_form_property, form_.c_str()}});
    }

private:
    at::Tensor there_and_back(const at::Tensor& weight_OI) const;
    at::Tensor weight_of(const LinearWeight& weight);
    at::Tensor input_of(const at::Tensor& x) const;

    std::int64_t bits_, group_;
    bool inputs_;
    std::string form_;
};

}  // namespace switchyard
