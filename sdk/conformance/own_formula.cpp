#include <switchyard/conformance/own_formula.h>

#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <switchyard/conformance/binding.h>
#include <switchyard/conformance/differentiate.h>
#include <switchyard/conformance/tolerance.h>
#include <switchyard/conformance/values.h>
#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/reason_text.h>
#include <switchyard/reference/dropout_mask.h>
#include <switchyard/reference/linear.h>
#include <switchyard/reference/loss.h>
#include <switchyard/reference/numeric.h>

namespace switchyard::conformance {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The component in float64 on the CPU, made for a request of its plainest form.
template <class Interface>
class Own {
public:
    using Asked = typename KindTraits<kind_of<Interface>>::Request;

    Own(const ComponentUnderTest& component, Asked request, bool needs_grad) {
        request.device = Device::cpu;
        request.dtype = DType::float64;
        request.layout = Layout::padded;
        request.needs_grad = needs_grad;
        const auto shared = std::make_shared<const Asked>(std::move(request));
        const Verdict verdict = ask(component, *shared);
        if (!verdict.ok())
            throw FormulaFault("not_in_float64",
                               formula_name(*shared) +
                                   " is served, but not in float64 on the CPU, which all else is held to: " +
                                   to_text(verdict.reasons.front()));
        binding_ = std::make_unique<Binding>(component, shared);
    }

    Interface& operator*() const { return *static_cast<Interface*>(binding_->interface()); }

private:
    std::unique_ptr<Binding> binding_;
};

// An order of n things without a pattern that a kernel could have, too.
at::Tensor shuffled(std::int64_t n) { return bell({n}, 4711).argsort(); }

at::Tensor inverse(const at::Tensor& order) { return order.argsort(); }

// d f(x + t direction) / dt at t = 0, for each value of f, in float64: by differences of fourth order
// (Abramowitz & Stegun 1964, 25.3.6). Where those of two distances disagree there is a kink between, and much
// closer ones are taken.
struct Slope {
    at::Tensor value;
    at::Tensor disagreement;  // of two distances: where there is a kink between, how far off it may be
};
template <class F>
Slope slope_along(const F& f, const at::Tensor& x, const at::Tensor& direction) {
    constexpr double far = 0x1p-13, close = 0x1p-23, disagreement = 1e-6;
    const auto difference = [&](double h) {
        return (f(x + h * direction) - f(x - h * direction)) / (2.0 * h);
    };
    const at::Tensor one = difference(far), two = difference(2.0 * far);
    const at::Tensor kink = (one - two).abs().gt(disagreement * (1.0 + one.abs()));
    const at::Tensor smooth = (4.0 * one - two) / 3.0;
    return {kink.any().item<bool>() ? at::where(kink, difference(close), smooth) : smooth, (one - two).abs()};
}
template <class F>
at::Tensor slope(const F& f, const at::Tensor& x, const at::Tensor& direction) {
    return slope_along(f, x, direction).value;
}

// `y` with that derivative by x: autograd sees the second summand, which is zero.
at::Tensor with_slope(const at::Tensor& y, const at::Tensor& x, const at::Tensor& slope) {
    return y + (x - x.detach()) * slope;
}

// 1 or -1 for each value.
at::Tensor signs(const at::Tensor& x, std::uint64_t seed) {
    return 2.0 * integers(x.sizes(), 0, 2, seed).to(at::kDouble) - 1.0;
}

// x, each value moved up or down by that share of itself.
at::Tensor moved(const at::Tensor& x, double share, std::uint64_t seed) {
    return share == 0.0 ? x : x * (1.0 + share * signs(x, seed));
}

double error_of(at::ScalarType type) {
    if (type == at::kDouble) return 0.0;
    return type == at::kFloat ? 4.0 * unit_roundoff(type) : 2.0 * unit_roundoff(type);
}

at::Tensor in_float64(const at::Tensor& tensor) { return tensor.to(at::kDouble); }

}  // namespace

std::function<Tensors(const Tensors&)> own_activation(const ComponentUnderTest& component,
                                                      const ActivationRequest& request,
                                                      const ActivationParams& params) {
    ActivationRequest plain = request;
    plain.input_bias = false;
    plain.dropout = 0.0;
    auto own = std::make_shared<Own<Activation>>(component, std::move(plain), false);
    return [own, params](const Tensors& inputs) {
        ActivationParams alone = params;
        alone.dropout = {};
        const auto of_values = [&](const at::Tensor& x) {
            const c10::NoGradGuard no_gradients;
            const at::Tensor order = shuffled(x.numel());
            const at::Tensor values = x.detach().flatten().index_select(0, order).reshape(x.sizes());
            const at::Tensor y = (**own).forward({values, {}}, alone, nullptr);
            // What is no number stays none.
            return y.flatten().index_select(0, inverse(order)).reshape(x.sizes()).masked_fill(x.isnan(), nan);
        };
        const auto type = inputs[0].scalar_type();
        const double error = error_of(type);
        at::Tensor x = in_float64(inputs[0]);
        if (inputs[1].defined()) x = x + in_float64(inputs[1]);
        x = moved(x, error, 1);
        at::Tensor y = of_values(x);
        if (x.requires_grad()) y = with_slope(y, x, slope(of_values, x.detach(), at::ones_like(x)));
        y = moved(y, error, 2).to(type);
        return Tensors{reference::hidden_dropout(y, params.dropout, params.tokens)};
    };
}

namespace {

void check_row_without_targets(Loss& own, const LossParams& params, std::int64_t classes) {
    const auto options = at::TensorOptions(at::kDouble);
    const at::Tensor x = at::full({1, classes}, 0.375, options);
    const at::Tensor none = at::full({1, classes}, nan, options);
    const double loss = own.forward({x, {}, {}, none}, params, nullptr).loss.item<double>();
    if (loss == 0.0) return;
    std::ostringstream text;
    text << "the loss of a row without a single target is " << loss << ", expected 0";
    throw FormulaFault("wrong_output", text.str());
}

// Of more classes than this, finite differences for each would take too long.
constexpr std::int64_t most_columns = 16;

// The component's own slope of each row's loss, which then has to be that of the losses along directions.
at::Tensor slope_by_itself(const ComponentUnderTest& component, LossRequest request, const LossParams& params,
                           const at::Tensor& x_RC, const at::Tensor& targets) {
    Own<Loss> own(component, std::move(request), true);
    const at::Tensor ones = x_RC.new_ones({x_RC.size(0)});
    if (component.manifest->gradient == GradientMode::kernel) {
        const c10::NoGradGuard no_gradients;
        Saved saved;
        (*own).forward({x_RC, {}, {}, targets}, params, &saved);
        return (*own).backward(params, saved, ones, {true, false, false}).x.reshape(x_RC.sizes());
    }
    const c10::AutoGradMode with_gradients(true);
    const at::Tensor x = leaf(x_RC);
    const at::Tensor loss = (*own).forward({x, {}, {}, targets}, params, nullptr).loss;
    return differentiate({loss}, {ones}, {x})[0];
}

template <class F>
void check_along(const F& of_rows, const at::Tensor& x_RC, const at::Tensor& slope_RC) {
    constexpr int directions = 4;
    constexpr double allowed = 1e-7;
    for (int i = 0; i < directions; ++i) {
        const at::Tensor direction = bell(x_RC.sizes(), 100 + static_cast<std::uint64_t>(i));
        const Slope rise = slope_along(of_rows, x_RC, direction);
        const at::Tensor& along = rise.value;
        const at::Tensor claimed = (slope_RC * direction).sum(1);
        const at::Tensor off =
            (along - claimed).abs().gt(allowed * (1.0 + along.abs()) + 4.0 * rise.disagreement);
        if (!off.any().item<bool>()) continue;
        const auto row = off.nonzero()[0].item<std::int64_t>();
        std::ostringstream text;
        text << "the gradient in float64 of row " << row << " says " << claimed[row].item<double>()
             << " along a direction in which the loss rises by " << along[row].item<double>();
        throw FormulaFault("wrong_gradient", text.str());
    }
}

// The losses of these rows, all of which count, and what autograd needs to go on from them. `checked`: the
// slope of many classes was found right, which is looked at once.
at::Tensor losses_of_rows(const ComponentUnderTest& component, const LossRequest& request, Loss& own,
                          const LossParams& params, const at::Tensor& logits_RC, const at::Tensor& targets,
                          double error, bool& checked) {
    if (logits_RC.size(0) == 0) return logits_RC.sum(1);
    const at::Tensor order = shuffled(logits_RC.size(0));
    const at::Tensor theirs = targets.index_select(0, order);
    const auto of_rows = [&](const at::Tensor& x_RC) {
        const c10::NoGradGuard no_gradients;
        const LossInputs inputs{x_RC.index_select(0, order), {}, {}, theirs};
        return own.forward(inputs, params, nullptr).loss.index_select(0, inverse(order));
    };
    const at::Tensor x_RC = logits_RC.detach();
    // Logarithms and exponentials of large logits err by a share of those.
    const at::Tensor largest_R = x_RC.abs().amax(1);
    at::Tensor loss_R = of_rows(x_RC);
    if (error > 0.0) loss_R = loss_R + error * (loss_R.abs() + largest_R) * signs(loss_R, 2);
    if (!logits_RC.requires_grad()) return loss_R;
    at::Tensor slope_RC = at::zeros_like(x_RC);
    if (x_RC.size(1) > most_columns) {
        slope_RC = slope_by_itself(component, request, params, x_RC.index_select(0, order), theirs)
                       .index_select(0, inverse(order));
        if (!checked) check_along(of_rows, x_RC, slope_RC);
        checked = true;
    } else {
        for (std::int64_t column = 0; column < x_RC.size(1); ++column) {
            at::Tensor direction = at::zeros_like(x_RC);
            direction.select(1, column).fill_(1.0);
            slope_RC.select(1, column).copy_(slope(of_rows, x_RC, direction));
        }
    }
    if (error > 0.0)
        slope_RC = slope_RC * (1.0 + error * (1.0 + largest_R.unsqueeze(1)) * signs(slope_RC, 3));
    return loss_R + ((logits_RC - x_RC) * slope_RC).sum(1);
}

}  // namespace

std::function<Tensors(const Tensors&)> own_loss(const ComponentUnderTest& component,
                                                const LossRequest& request, const LossParams& params) {
    LossRequest plain = request;
    plain.projection = plain.projection_bias = plain.may_overwrite_logits = false;
    plain.width = 0;
    plain.per_row = true;
    plain.rows = {1, request.rows.max};
    const bool of_values = has_value_targets(request);
    LossParams alone = params;
    alone.reduction = Reduction::none;
    alone.divisor = 0.0;
    alone.may_overwrite_logits = false;
    auto own = std::make_shared<Own<Loss>>(component, plain, false);
    if (of_values) check_row_without_targets(**own, alone, request.classes.min);
    // A case's oracle is asked first and at the case's own values; all further runs, of inputs that are
    // scaled or moved for the size of errors, ask the same function.
    const auto checked = std::make_shared<bool>(false);
    return [own, component, plain, params, alone, of_values, checked](const Tensors& inputs) {
        const at::Tensor& targets = inputs[3];
        at::Tensor x = inputs[0], wanted = targets, rows;
        std::int64_t count = 0;
        if (of_values) {
            const at::Tensor left_out = targets.isnan();
            count = left_out.numel() - left_out.sum().item<std::int64_t>();
            x = x.masked_fill(left_out, 0.375);  // whatever is there must not matter
            wanted = targets.to(at::kDouble);
            rows = at::arange(x.size(0));
        } else {
            rows = targets.ne(params.ignore_index).nonzero().squeeze(1);
            count = rows.size(0);
            x = x.index_select(0, rows);
            wanted = targets.index_select(0, rows);
            if (inputs[1].defined()) x = reference::linear(x, inputs[1], inputs[2]);
        }
        const auto type = reference::wide_type(inputs[0].scalar_type());
        const double error = error_of(type);
        const at::Tensor loss_R = losses_of_rows(component, plain, **own, alone,
                                                 moved(in_float64(x), error, 1), wanted, error, *checked)
                                      .to(type);
        at::Tensor loss;
        if (params.reduction == Reduction::none) {
            loss = loss_R.new_zeros({inputs[0].size(0)}).index_copy(0, rows, loss_R);
        } else {
            loss = loss_R.sum() / reference::divisor_of(params, count);
        }
        return Tensors{loss, at::scalar_tensor(count, at::TensorOptions(at::kLong))};
    };
}

}  // namespace switchyard::conformance
