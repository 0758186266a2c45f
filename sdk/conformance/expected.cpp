#include <switchyard/conformance/expected.h>

#include <algorithm>

#include <ATen/TensorOperators.h>

#include <switchyard/conformance/differentiate.h>

namespace switchyard::conformance {
namespace {

Tensors in_dtype(const Tensors& tensors, at::ScalarType type) {
    Tensors result;
    for (const at::Tensor& tensor : tensors) {
        result.push_back(tensor.defined() && tensor.is_floating_point() ? tensor.to(type) : tensor);
    }
    return result;
}

// Outputs and gradients of the reference on these inputs.
Outcome run_reference(const Operation& operation, const Tensors& inputs, const Tensors& grad_outputs) {
    Tensors leaves = inputs;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (operation.needs[i] && leaves[i].defined()) leaves[i] = leaf(leaves[i]);
    }
    Outcome outcome;
    outcome.outputs = operation.reference(leaves);
    if (!operation.needs_any()) return outcome;
    Tensors wanted = leaves;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!operation.needs[i]) wanted[i] = at::Tensor();
    }
    Tensors seeds = grad_outputs;
    for (std::size_t i = 0; i < seeds.size(); ++i) {
        if (seeds[i].defined() && outcome.outputs[i].defined())
            seeds[i] = seeds[i].to(outcome.outputs[i].scalar_type());
    }
    outcome.gradients = differentiate(outcome.outputs, seeds, wanted);
    return outcome;
}

// How often the reference runs: one value's error is a matter of chance, a thousand values' is not. Errors of
// many roundings are near normal (Higham & Mary 2019, A new approach to probabilistic rounding error
// analysis, SIAM J. Sci. Comput. 41). So the rms error of n values by a right candidate is more than twice
// the largest of k runs of the reference by chance
//
//     n = 1:   30 % at k = 1, 4 % at k = 4, 0.3 % at k = 12       n = 2:   20 %, 1.5 %, 0.06 %
//     n = 4:   10 %, 0.3 %, 0.001 %                               n = 16:  0.4 % at k = 1, below 0.001 % at k
//              = 4
//
// of the time, and more than three times for gradients a tenth of that: k is such that it stays below 1 in
// 300, which the floor takes.
// Values of one row err together where they share a sum, as of a softmax: few rows are few values.
constexpr std::int64_t few_rows = 16;
std::size_t runs_for(const Outcome& outcome) {
    std::size_t runs = 1;
    const auto take = [&](const Tensors& tensors) {
        for (const at::Tensor& tensor : tensors) {
            if (!tensor.defined() || tensor.numel() == 0 || !tensor.is_floating_point()) continue;
            const std::int64_t values = tensor.numel(),
                               rows = tensor.dim() < 2 ? values : values / tensor.size(-1);
            runs = std::max<std::size_t>(runs, values <= 4 ? 12 : values <= 256 || rows <= few_rows ? 4 : 1);
        }
    };
    take(outcome.outputs);
    take(outcome.gradients);
    return runs;
}

// Takes in errors of a run whose oracle is `scaled` instead of `oracle`.
void widen(std::vector<Spread>& errors, const Tensors& found, const Tensors& scaled, const Tensors& oracle,
           double unit_ratio) {
    errors.resize(oracle.size());
    for (std::size_t i = 0; i < oracle.size(); ++i) {
        if (!oracle[i].defined()) continue;
        const double own = spread_of(oracle[i]).rms, other = spread_of(scaled[i]).rms;
        const double size = (own > 0.0 && other > 0.0 ? own / other : 1.0) * unit_ratio;
        const Spread error = spread_of(found[i], scaled[i]);
        errors[i].rms = std::max(errors[i].rms, error.rms * size);
        errors[i].largest = std::max(errors[i].largest, error.largest * size);
    }
}

}  // namespace

// What is right x, candidate c, oracle o: |c - o| <= |c - x| + |o - x|. In float64 the oracle is the
// reference itself, whose error is one of the reference's more; elsewhere it has none to speak of.
double factor(double times, DType dtype) { return dtype == DType::float64 ? times + 1.0 : times; }

Expected expect(const Operation& operation, DType dtype) {
    // There is no wider oracle for float64: its errors are taken to be float32's, scaled by the ratio of
    // their units.
    const bool is_double = dtype == DType::float64;
    const double unit_ratio = is_double ? unit_roundoff(at::kDouble) / unit_roundoff(at::kFloat) : 1.0;
    // The oracle's gradients are taken of all inputs, for their size.
    Operation all = operation;
    for (std::size_t i = 0; i < all.inputs.size() && operation.needs_any(); ++i)
        all.needs[i] = all.inputs[i].defined() && all.inputs[i].is_floating_point();
    Expected expected;
    std::size_t runs = 0;
    for (const double scale : {1.0, 1.1, 0.9, 1.2, 0.8, 1.05, 0.95, 1.15, 0.85, 1.25, 0.75, 1.3}) {
        Tensors inputs = operation.inputs, grads = operation.grad_outputs;
        for (at::Tensor& input : inputs) {
            if (scale != 1.0 && input.defined() && input.is_floating_point()) input = input * scale;
        }
        if (is_double) {
            inputs = in_dtype(inputs, at::kFloat);
            grads = in_dtype(grads, at::kFloat);
        }
        const Outcome oracle =
            run_reference(all, in_dtype(inputs, at::kDouble), in_dtype(grads, at::kDouble));
        const Outcome reference = run_reference(operation, inputs, grads);
        if (scale == 1.0) {
            expected.oracle =
                is_double ? run_reference(all, operation.inputs, operation.grad_outputs) : oracle;
            for (const at::Tensor& output : reference.outputs) {
                const auto type = output.defined() ? output.scalar_type() : at::kFloat;
                expected.output_types.push_back(is_double && type == at::kFloat ? at::kDouble : type);
            }
        }
        widen(expected.output_errors, reference.outputs, oracle.outputs, expected.oracle.outputs, unit_ratio);
        widen(expected.gradient_errors, reference.gradients, oracle.gradients, expected.oracle.gradients,
              unit_ratio);
        if (++runs >= runs_for(expected.oracle)) break;
    }
    return expected;
}

}  // namespace switchyard::conformance
