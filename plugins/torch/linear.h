// Linear layers by LibTorch's products: at::linear forward, at::mm for the gradients.
#pragma once

#include <string>
#include <string_view>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class TorchLinear final : public Linear {
public:
    explicit TorchLinear(const CreateInfo& info);
    static Verdict supports(const LinearRequest& request, const HostInfo& host, const Options& options);

    at::Tensor forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) override;
    at::Tensor input_gradient(const LinearOperand& grad, const LinearWeight& weight) override;
    at::Tensor weight_gradient(const LinearOperand& grad, const LinearOperand& x) override;

    void* query(std::string_view id) override {
        return component_property(id, {{graph_capture_property, ""}, {slow_here_property, slow_.c_str()}});
    }

private:
    bool tf32_;
    std::string slow_;
};

}  // namespace switchyard
