#include "fake_quantized.h"

#include <memory>
#include <optional>

#include <ATen/ops/isfinite.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>

#include <switchyard/reference/quantized_weight.h>

namespace switchyard {

FakeQuantized::FakeQuantized(const CreateInfo& info)
    : Linear(info),
      bits_(info.options.integer("bits")),
      group_(info.options.integer("group")),
      inputs_(info.options.boolean("inputs")),
      form_(std::to_string(bits_) + " bits and back, groups of " + std::to_string(group_)) {}

// A weight that is not finite any more stays as it is: training finds that in its loss.
at::Tensor FakeQuantized::there_and_back(const at::Tensor& weight_OI) const {
    if (!at::isfinite(weight_OI).all().item<bool>()) return weight_OI.clone();
    const auto made = reference::quantized(weight_OI, {bits_, group_, bits_ == 4});
    return reference::dequantized(made).to(weight_OI.scalar_type());
}

// The weight after 8 or 4 bits, in its own dtype: made once a step.
PreparedWeight FakeQuantized::prepare(const at::Tensor& weight_OI, bool) {
    const auto form = std::make_shared<const at::Tensor>(there_and_back(weight_OI));
    return {form, static_cast<std::int64_t>(form->nbytes()), false};
}

at::Tensor FakeQuantized::weight_of(const LinearWeight& weight) {
    if (weight.prepared != nullptr) return *static_cast<const at::Tensor*>(weight.prepared->form.get());
    return *static_cast<const at::Tensor*>(prepare(weight.operand.values, true).form.get());
}

at::Tensor FakeQuantized::input_of(const at::Tensor& x) const {
    return inputs_ ? reference::requantized_input(x, {}).to(x.scalar_type()) : x;
}

at::Tensor FakeQuantized::forward(const LinearOperand& x, const LinearWeight& weight,
                                  const at::Tensor& bias) {
    executed();
    return at::linear(input_of(x.values), weight_of(weight),
                      bias.defined() ? std::optional(bias) : std::nullopt);
}

at::Tensor FakeQuantized::input_gradient(const LinearOperand& grad, const LinearWeight& weight) {
    return at::mm(grad.values, weight_of(weight));
}

at::Tensor FakeQuantized::weight_gradient(const LinearOperand& grad, const LinearOperand& x) {
    return at::mm(grad.values.t(), input_of(x.values));
}

}  // namespace switchyard
