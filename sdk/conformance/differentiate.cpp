#include <switchyard/conformance/differentiate.h>

#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

namespace switchyard::conformance {

at::Tensor leaf(const at::Tensor& tensor) {
    return tensor.defined() ? tensor.detach().requires_grad_() : tensor;
}

std::vector<at::Tensor> differentiate(const std::vector<at::Tensor>& outputs,
                                      const std::vector<at::Tensor>& grad_outputs,
                                      const std::vector<at::Tensor>& inputs) {
    std::vector<at::Tensor> from, seeds, to;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i].defined() || !outputs[i].requires_grad()) continue;
        from.push_back(outputs[i]);
        seeds.push_back(grad_outputs[i]);
    }
    for (const at::Tensor& input : inputs) {
        if (input.defined()) to.push_back(input);
    }
    std::vector<at::Tensor> found;
    if (!from.empty() && !to.empty()) found = torch::autograd::grad(from, to, seeds, false, false, true);
    std::vector<at::Tensor> gradients;
    std::size_t next = 0;
    for (const at::Tensor& input : inputs) {
        at::Tensor gradient;
        if (input.defined()) {
            if (!found.empty()) gradient = found[next++];
            if (!gradient.defined()) gradient = at::zeros_like(input);
        }
        gradients.push_back(gradient);
    }
    return gradients;
}

}  // namespace switchyard::conformance
