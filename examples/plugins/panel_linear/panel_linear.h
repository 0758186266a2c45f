// y = x W^T + b and its two gradients, with a weight that is packed into panels once a step, or once in all
// where nothing is trained, and then replaces the weight.
#pragma once

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/verdict.h>

class PanelLinear final : public switchyard::Linear {
public:
    using Linear::Linear;

    static switchyard::Verdict supports(const switchyard::LinearRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);

    at::Tensor forward(const switchyard::LinearOperand& x, const switchyard::LinearWeight& weight,
                       const at::Tensor& bias) override;
    at::Tensor input_gradient(const switchyard::LinearOperand& grad,
                              const switchyard::LinearWeight& weight) override;
    at::Tensor weight_gradient(const switchyard::LinearOperand& grad,
                               const switchyard::LinearOperand& x) override;
    switchyard::PreparedWeight prepare(const at::Tensor& weight_OI, bool for_gradient) override;

    void* query(std::string_view question) override;

private:
    bool bfloat16_ = false;  // what was multiplied last, for `switchyard precision`
};
