#include "core/workbench/bench/bench_tensors.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include <switchyard/interfaces/dropout.h>
#include <switchyard/interfaces/torch_types.h>

namespace switchyard::bench {

namespace {

at::Generator generator(std::uint64_t seed, std::uint32_t stream) {
    return at::detail::createCPUGenerator(site_seed(seed, 0, stream));
}

}  // namespace

at::Tensor random_normal(at::IntArrayRef sizes, DType dtype, std::uint64_t seed, std::uint32_t stream,
                         double scale) {
    at::Tensor values = at::randn(sizes, generator(seed, stream), at::dtype(at::kFloat));
    if (scale != 1.0) values.mul_(scale);
    return values.to(to_scalar_type(dtype));
}

at::Tensor random_integers(at::IntArrayRef sizes, std::int64_t bound, std::uint64_t seed,
                           std::uint32_t stream) {
    return at::randint(bound, sizes, generator(seed, stream), at::dtype(at::kLong));
}

at::Tensor on_device(const at::Tensor& tensor, Device device) {
    return tensor.defined() ? tensor.to(to_device_type(device)) : tensor;
}

TensorCall::TensorCall(TensorFunction function, const std::vector<NamedInput>& inputs,
                       const std::vector<at::Tensor>& grad_outputs, Pass pass, Device device)
    : function_(std::move(function)), pass_(pass) {
    for (const auto& gradient : grad_outputs) grad_outputs_.push_back(on_device(gradient, device));
    for (const NamedInput& input : inputs) {
        const bool leaf = pass != Pass::forward && input.differentiable && input.value.defined();
        const auto value = on_device(input.value, device);
        inputs_.push_back(leaf ? value.detach().requires_grad_(true) : value);
        if (!leaf) continue;
        leaves_.push_back(inputs_.back());
        leaf_names_.push_back(input.name);
    }
}

std::vector<at::Tensor> TensorCall::outputs() const {
    const at::AutoGradMode mode(pass_ != Pass::forward);
    return function_(inputs_);
}

std::vector<at::Tensor> TensorCall::gradients(const std::vector<at::Tensor>& outputs, bool again) const {
    std::vector<at::Tensor> roots, starts;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i].defined() || !outputs[i].requires_grad() || !grad_outputs_.at(i).defined()) continue;
        roots.push_back(outputs[i]);
        starts.push_back(grad_outputs_[i].to(outputs[i].scalar_type()));
    }
    return torch::autograd::grad(roots, leaves_, starts, again);
}

void TensorCall::run() const {
    if (pass_ == Pass::backward) {
        if (kept_.empty()) kept_ = outputs();
        gradients(kept_, true);
        return;
    }
    const std::vector<at::Tensor> results = outputs();
    if (pass_ == Pass::forward_backward) gradients(results);
}

CheckedTensors TensorCall::results(const std::vector<std::string>& output_names) const {
    CheckedTensors checked;
    const std::vector<at::Tensor> values = outputs();
    for (std::size_t i = 0; i < output_names.size(); ++i) {
        if (values.at(i).defined()) checked.push_back({output_names[i], values[i].detach().cpu(), false});
    }
    if (pass_ == Pass::forward) return checked;
    const std::vector<at::Tensor> grads = gradients(values);
    for (std::size_t i = 0; i < grads.size(); ++i)
        checked.push_back({"grad " + leaf_names_[i], grads[i].cpu(), true});
    return checked;
}

at::Tensor in_dtype(const at::Tensor& tensor, DType storage, DType dtype) {
    if (!tensor.defined() || !tensor.is_floating_point()) return tensor;
    const auto type = from_scalar_type(tensor.scalar_type());
    const bool change = type && (*type == storage || size_of(*type) < size_of(dtype));
    return change ? tensor.detach().to(to_scalar_type(dtype)) : tensor.detach();
}

std::vector<NamedInput> in_dtype(const std::vector<NamedInput>& inputs, DType storage, DType dtype) {
    std::vector<NamedInput> converted = inputs;
    for (NamedInput& input : converted) input.value = in_dtype(input.value, storage, dtype);
    return converted;
}

resolver::SlotUse bench_use(Kind kind, std::shared_ptr<Request> request) {
    resolver::SlotUse use;
    use.kind = kind;
    use.slot = std::string(name(kind));
    use.layers = "bench";
    use.phase = request->phase;
    use.request = std::move(request);
    return use;
}

void fill_request(Request& request, const BenchSettings& settings, DType dtype, Pass pass) {
    request.dtype = dtype;
    request.device = settings.device;
    request.layout = settings.layout;
    request.phase = pass == Pass::forward && settings.dropout == 0.0 ? Phase::eval : Phase::train;
    request.needs_grad = pass != Pass::forward;
}

}  // namespace switchyard::bench
