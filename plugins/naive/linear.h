// The plain reference of linear layers: products as linear.h writes them, of scaled operands and quantized
// weights in float32.
#pragma once

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class NaiveLinear final : public Linear {
public:
    explicit NaiveLinear(const CreateInfo& info)
        : Linear(info), input_(KindTraits<Kind::linear>::request(*info.request).input_quantization) {}

    static Verdict supports(const LinearRequest& request, const HostInfo& host, const Options& options);
    at::Tensor forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) override;
    at::Tensor input_gradient(const LinearOperand& grad, const LinearWeight& weight) override;
    at::Tensor weight_gradient(const LinearOperand& grad, const LinearOperand& x) override;
    PreparedWeight prepare_quantized(const QuantizedWeight& weight) override;

private:
    InputQuantization input_;
};

}  // namespace switchyard
