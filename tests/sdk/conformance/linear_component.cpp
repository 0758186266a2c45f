// A right linear layer, dense and scaled, with gradients and prepared weights - and, with a mutation, one
// that is wrong in one way. Sums are float32's, or float64's.
#include <algorithm>
#include <memory>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/numeric.h>
#include <switchyard/reference/quantized_weight.h>

#include "component.h"

namespace switchyard::test {
namespace {

// Legend:  R rows  I in  O out

using reference::wide;

// Which value of a scale's dimension each of `size` values has.
at::Tensor blocks(std::int64_t size) { return at::arange(size, at::kLong).div(scale_block, "floor"); }

struct QuantizedForm {
    at::Tensor weight_OI, input_scale;
};

class LinearSample final : public Linear {
public:
    explicit LinearSample(const CreateInfo& info)
        : Linear(info), mutation_(info), request_(*static_cast<const LinearRequest*>(info.request)) {}
    static Verdict supports(const LinearRequest&, const HostInfo&, const Options&) { return {}; }

    at::Tensor forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) override;
    at::Tensor input_gradient(const LinearOperand& grad, const LinearWeight& weight) override;
    at::Tensor weight_gradient(const LinearOperand& grad, const LinearOperand& x) override;
    PreparedWeight prepare(const at::Tensor& weight_OI, bool for_gradient) override;
    PreparedWeight prepare_quantized(const QuantizedWeight& weight) override;

private:
    bool is(const char* name) const { return mutation_.is(name); }
    at::Tensor meant(const LinearOperand& operand) const;
    at::Tensor weight_OI(const LinearWeight& weight) const;
    at::Tensor product(const at::Tensor& x_RI, const at::Tensor& weight_IO, at::ScalarType type) const;
    at::Tensor with_bias(const at::Tensor& y_RO, const at::Tensor& bias_O) const;
    at::Tensor finished(at::Tensor y_RO, const LinearOperand& x);
    at::ScalarType result_type(const LinearOperand& operand) const {
        return operand.scaled() ? to_scalar_type(request_.output_dtype) : operand.values.scalar_type();
    }

    Mutation mutation_;
    LinearRequest request_;
    // Of mutations:
    at::Tensor kept_, kept_gradient_, last_weight_;
    PreparedWeight first_form_;
    std::int64_t first_rows_ = -1, calls_ = 0;
};

// In what sums are made in.
at::Tensor LinearSample::meant(const LinearOperand& operand) const {
    at::Tensor values = operand.values;
    if (is("assumes_dense")) values = values.as_strided(values.sizes(), values.contiguous().strides());
    if (is("reads_before") && values.storage_offset() > 0 && !operand.scaled())
        values = values + values.as_strided({1}, {1}, values.storage_offset() - 1) * 0.0;
    if (is("rounds_to_tf32") || (is("tf32_if_asked") && request_.tf32)) {
        const at::Tensor large = values * 8193.0;
        values = large - (large - values);
    }
    if (!operand.scaled()) return wide(values);
    at::Tensor inverse = operand.inverse_scale;
    if (operand.group == ScaleGroup::square) {
        if (is("square_transposed") && inverse.size(0) == inverse.size(1)) inverse = inverse.t();
        inverse = inverse.index_select(0, blocks(values.size(0)));
    }
    if (operand.group == ScaleGroup::strip || operand.group == ScaleGroup::square)
        inverse = inverse.index_select(1, blocks(values.size(1)));
    return values.to(at::kFloat) * inverse;
}

at::Tensor LinearSample::weight_OI(const LinearWeight& weight) const {
    if (weight.prepared != nullptr && request_.weight_format == WeightFormat::quantized)
        return wide(static_cast<const QuantizedForm*>(weight.prepared->form.get())->weight_OI);
    if (weight.prepared != nullptr)
        return wide(static_cast<const at::Tensor*>(weight.prepared->form.get())->t());
    if (is("ignores_weight_scale") && weight.operand.scaled()) return weight.operand.values.to(at::kFloat);
    return meant(weight.operand);
}

at::Tensor LinearSample::product(const at::Tensor& x_RI, const at::Tensor& weight_IO,
                                 at::ScalarType type) const {
    const std::int64_t in = x_RI.size(1);
    if (is("accumulates_low")) {
        at::Tensor sum = at::zeros({x_RI.size(0), weight_IO.size(1)}, x_RI.options().dtype(type));
        for (std::int64_t i = 0; i < in; i += 4) {
            const std::int64_t count = std::min<std::int64_t>(4, in - i);
            sum = (wide(sum) + x_RI.narrow(1, i, count).matmul(weight_IO.narrow(0, i, count))).to(type);
        }
        return wide(sum);
    }
    if (is("last_column_past_1024") && in > 1024)
        return x_RI.narrow(1, 0, in - 1).matmul(weight_IO.narrow(0, 0, in - 1));
    return x_RI.matmul(weight_IO);
}

at::Tensor LinearSample::with_bias(const at::Tensor& y_RO, const at::Tensor& bias_O) const {
    if (!bias_O.defined() || is("forgets_bias")) return y_RO;
    if (is("bias_not_in_last_row") && y_RO.size(0) > 1)
        return y_RO + wide(bias_O) * at::arange(y_RO.size(0), y_RO.options())
                                         .lt(y_RO.size(0) - 1)
                                         .to(y_RO.scalar_type())
                                         .unsqueeze(1);
    return y_RO + wide(bias_O) * (is("bias_twice") ? 2.0 : 1.0);
}

// What comes of y, x being at hand.
at::Tensor LinearSample::finished(at::Tensor y_RO, const LinearOperand& x) {
    const std::int64_t rows = y_RO.size(0);
    if (first_rows_ < 0) first_rows_ = rows;
    if (is("odd_on_second_shape") && rows != first_rows_) y_RO = y_RO * 1.5;
    if (is("odd_past_64_rows") && rows > 64)
        y_RO = y_RO * at::arange(rows, y_RO.options()).lt(64).unsqueeze(1);
    if (is("nan_to_num")) y_RO = y_RO.nan_to_num();
    if (is("nondeterministic")) y_RO = y_RO * (1.0 + 0.25 * static_cast<double>(calls_ % 3));
    if (is("odd_after_10_calls") && ++calls_ > 10) y_RO = y_RO * 1.5;
    ++calls_;
    if (is("returns_float32")) return y_RO.to(at::kFloat);
    y_RO = y_RO.to(result_type(x));
    if (is("writes_into_x") && x.values.numel() > 0) x.values.mul_(0.5);
    if (is("returns_x") && y_RO.sizes() == x.values.sizes()) return x.values.copy_(y_RO);
    if (!is("keeps_result")) return y_RO;
    if (!kept_.defined() || kept_.sizes() != y_RO.sizes()) kept_ = at::empty(y_RO.sizes(), y_RO.options());
    return kept_.copy_(y_RO);
}

at::Tensor LinearSample::forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) {
    if (is("throws_on_empty") && x.values.size(0) == 0) throw std::runtime_error("x has no rows");
    const at::Tensor w_OI = weight_OI(weight);
    last_weight_ = w_OI.detach();
    const bool square = w_OI.size(0) == w_OI.size(1);
    const at::Tensor w_IO = is("square_weight_as_it_is") && square ? w_OI : w_OI.t();
    at::Tensor x_RI = meant(x);
    if (request_.input_quantization != InputQuantization::none && !is("leaves_input_as_it_is")) {
        const auto& scale = static_cast<const QuantizedForm*>(weight.prepared->form.get())->input_scale;
        x_RI = wide(reference::requantized_input(x_RI, is("one_scale_for_all_rows") && x_RI.numel() > 0
                                                           ? x_RI.abs().amax().to(at::kFloat) / 127.0
                                                           : scale));
    }
    const at::Tensor y_RO = with_bias(product(x_RI, w_IO, result_type(x)), bias);
    if (!is("not_counted")) executed(is("undeclared_variant") ? "fast" : "");
    if (is("counted_twice")) executed();
    return finished(y_RO, x);
}

at::Tensor LinearSample::input_gradient(const LinearOperand& grad, const LinearWeight& weight) {
    // A scaled weight comes as [I, O].
    at::Tensor w_OI = weight.operand.scaled() ? weight_OI(weight).t() : weight_OI(weight);
    if (is("weight_of_last_call")) w_OI = last_weight_;
    const at::Tensor gradient = meant(grad).matmul(w_OI) * (is("input_gradient_off") ? 1.01 : 1.0);
    return gradient.to(result_type(grad));
}

at::Tensor LinearSample::weight_gradient(const LinearOperand& grad, const LinearOperand& x) {
    // Scaled ones come as [O, R] and [I, R].
    at::Tensor grad_OR = grad.scaled() ? meant(grad) : meant(grad).t();
    at::Tensor x_RI = x.scaled() ? meant(x).t() : meant(x);
    if (is("ignores_gradient_scale") && grad.scaled()) grad_OR = grad.values.to(at::kFloat);
    const std::int64_t rows = x_RI.size(0);
    if (is("weight_gradient_without_last_row") && rows > 1)
        grad_OR = grad_OR.narrow(1, 0, rows - 1), x_RI = x_RI.narrow(0, 0, rows - 1);
    const at::Tensor gradient = grad_OR.matmul(x_RI).to(result_type(grad));
    if (!is("keeps_gradient")) return gradient;
    if (!kept_gradient_.defined()) kept_gradient_ = at::empty(gradient.sizes(), gradient.options());
    return kept_gradient_.copy_(gradient);
}

PreparedWeight LinearSample::prepare_quantized(const QuantizedWeight& weight) {
    QuantizedWeight read = weight;
    if (is("forgets_zero_points")) read.zero_points.reset();
    if (is("first_scale_for_all") && read.groups() > 1)
        read.scales = read.scales.narrow(1, 0, 1).expand_as(read.scales);
    if (is("halves_swapped") && read.bits() == 4)
        read.values = read.values.div(16, "floor") + read.values.remainder(16) * 16;
    const auto form = std::make_shared<QuantizedForm>(QuantizedForm{
        reference::dequantized(read), is("forgets_input_scale") ? at::Tensor() : read.input_scale});
    return {form, is("form_of_bytes_unknown") ? 0 : static_cast<std::int64_t>(form->weight_OI.nbytes()),
            !is("quantized_beside_form")};
}

PreparedWeight LinearSample::prepare(const at::Tensor& weight_OI, bool for_gradient) {
    if (is("nothing_replaces_weight")) return {nullptr, 0, true};
    if (is("form_of_bytes_unknown")) return {std::make_shared<at::Tensor>(weight_OI.t()), 0, false};
    if (is("prepares_once") && first_form_.form != nullptr) return first_form_;
    const at::Tensor packed = weight_OI.t().contiguous().clone();
    first_form_ = {std::make_shared<at::Tensor>(packed), static_cast<std::int64_t>(packed.nbytes()),
                   !is("form_beside_weight")};
    if (is("forms_for_training_alone") && !for_gradient) return {};
    return first_form_;
}

}  // namespace

const LocalComponent linear_entry =
    local_component<Kind::linear, LinearSample>(GradientMode::kernel, RandomSource::none);

}  // namespace switchyard::test
