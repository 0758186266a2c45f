#include <switchyard/conformance/precision_quantize_checks.h>

#include <cmath>
#include <limits>
#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <c10/core/GradMode.h>

#include <switchyard/conformance/cases.h>
#include <switchyard/conformance/tolerance.h>
#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/linear.h>

namespace switchyard::conformance {
namespace {

// Legend:  R rows  I in  O out

Precision& policy_of(Binding& binding) { return *static_cast<Precision*>(binding.interface()); }

// [R, columns] in float64 on the CPU.
at::Tensor plain_rows(const at::Tensor& x) {
    const at::Tensor plain = x.detach().cpu().to(at::kDouble);
    const std::int64_t columns = x.size(-1);
    return plain.reshape({columns == 0 ? 0 : plain.numel() / columns, columns});
}

std::vector<std::int64_t> scale_sizes(ScaleGroup group, std::int64_t rows, std::int64_t columns) {
    const auto blocks = [](std::int64_t size) { return (size + scale_block - 1) / scale_block; };
    switch (group) {
        case ScaleGroup::tensor:
            return {};
        case ScaleGroup::row:
            return {rows, 1};
        case ScaleGroup::strip:
            return {rows, blocks(columns)};
        case ScaleGroup::square:
            break;
    }
    return {blocks(rows), blocks(columns)};
}

// What a float8 format can do: its largest value, how far rounding is off of a value, and of one so small
// that it has fewer digits (OFP8 1.0, 2023, table 1).
struct Format {
    double largest, relative, absolute;
};

Format format_of(at::ScalarType type) {
    if (type == at::kFloat8_e5m2) return {57344.0, std::ldexp(1.0, -3), std::ldexp(1.0, -17)};
    return {448.0, std::ldexp(1.0, -4), std::ldexp(1.0, -10)};
}

// "" where it is as linear.h states it; `plain` is the tensor it was made of.
std::string wrong_form(const LinearOperand& operand, const at::Tensor& plain) {
    std::ostringstream text;
    const auto &values = operand.values, &inverse = operand.inverse_scale;
    if (!values.defined() || !inverse.defined()) return "values or scales are undefined";
    if (values.scalar_type() != at::kFloat8_e4m3fn && values.scalar_type() != at::kFloat8_e5m2) {
        text << "values have dtype " << values.scalar_type() << ", expected a float8 type";
    } else if (values.sizes() != plain.sizes()) {
        text << "values have shape " << values.sizes() << ", expected " << plain.sizes();
    } else if (inverse.scalar_type() != at::kFloat) {
        text << "inverse_scale has dtype " << inverse.scalar_type() << ", expected float32";
    } else if (const auto sizes = scale_sizes(operand.group, plain.size(0), plain.size(1));
               inverse.sizes() != at::IntArrayRef(sizes)) {
        text << "inverse_scale has shape " << inverse.sizes() << ", expected " << at::IntArrayRef(sizes)
             << " of its group";
    }
    return text.str();
}

// "at place 17 expected 1, got 2": where `badness` is largest.
std::string at_worst(const at::Tensor& badness, const at::Tensor& found, const at::Tensor& plain) {
    const auto place = badness.to(at::kDouble).argmax().item<std::int64_t>();
    std::ostringstream text;
    text << "at place " << place << " expected " << plain.reshape({-1})[place].item<double>() << ", got "
         << found.reshape({-1})[place].item<double>();
    return text.str();
}

void check_values(const std::string& what, const LinearOperand& operand, const at::Tensor& plain,
                  const char* code, Findings& findings) {
    const Format format = format_of(operand.values.scalar_type());
    const LinearOperand here{operand.values.cpu(), operand.inverse_scale.cpu(), operand.group};
    const at::Tensor found = reference::unscaled(here).to(at::kDouble);
    const at::Tensor infinite = plain.isfinite().logical_not();
    if (infinite.any().item<bool>()) {
        // What shares a scale with such a value may become NaN, too.
        const at::Tensor hidden = infinite.logical_and(found.isfinite());
        if (hidden.any().item<bool>())
            findings.add("nan", what + " hides what is not finite: " + at_worst(hidden, found, plain));
        return;
    }
    const LinearOperand ones{at::ones_like(found), here.inverse_scale, here.group};
    const at::Tensor inverse = reference::unscaled(ones).to(at::kDouble);
    // A scale from earlier calls may be too large for some values. They become the largest there is, and that
    // is no less than half of them.
    const at::Tensor limit = inverse * format.largest;
    const at::Tensor target = at::where(plain.abs().le(limit * 2.0), plain.clamp(-limit, limit), plain);
    const at::Tensor allowed = (target.abs() * format.relative + inverse * format.absolute) * 1.05;
    const at::Tensor error = (found - target).abs();
    const at::Tensor wrong = error.le(allowed).logical_not();
    if (wrong.any().item<bool>()) {
        return findings.add(code, what + ": " + std::to_string(wrong.sum().item<std::int64_t>()) + " of " +
                                      std::to_string(wrong.numel()) + " values are wrong, " +
                                      at_worst(wrong, found, plain));
    }
    // A scale so small that most values lose their digits would have passed.
    const double size = spread_of(plain).rms, off = spread_of(found, plain).rms;
    if (plain.numel() >= 16 && off > 1.05 * format.relative * size) {
        std::ostringstream text;
        text << what << ": rms error " << off << ", rms of the values " << size
             << ": they are scaled to below what the format holds";
        findings.add(code, text.str());
    }
}

void check_operand(const std::string& what, const LinearOperand& operand, const at::Tensor& plain,
                   const char* code, Findings& findings) {
    const std::string wrong = wrong_form(operand, plain);
    if (!wrong.empty()) return findings.add("wrong_operand", what + ": " + wrong);
    if (plain.numel() > 0) check_values(what, operand, plain, code, findings);
}

bool same_bits(const LinearOperand& a, const LinearOperand& b) {
    const auto same = [](const at::Tensor& one, const at::Tensor& other) {
        if (!one.defined() || !other.defined()) return one.defined() == other.defined();
        return one.sizes() == other.sizes() && one.scalar_type() == other.scalar_type() &&
               one.reshape({-1}).view(at::kByte).equal(other.reshape({-1}).view(at::kByte));
    };
    return a.group == b.group && same(a.values, b.values) && same(a.inverse_scale, b.inverse_scale);
}

LayerData data_of(const QuantizeSpec& spec, const VerifyOptions& options, at::ScalarType stored,
                  std::uint64_t seed) {
    const at::Device device(to_device_type(options.device));
    const double around = std::numeric_limits<double>::quiet_NaN();
    std::vector<std::int64_t> x_sizes = spec.rows;
    std::int64_t rows = 1;
    for (const std::int64_t size : spec.rows) rows *= size;
    x_sizes.push_back(spec.in);
    const at::Tensor x = bell(x_sizes, seed + 1) * spec.magnitude;
    const at::Tensor grad = bell({rows, spec.out}, seed + 3) * spec.magnitude;
    if (spec.infinity) {
        for (const at::Tensor& tensor : {x, grad})
            tensor.view({-1})[0].fill_(std::numeric_limits<double>::infinity());
    }
    if (spec.nan) put_nan_in_the_middle(x), put_nan_in_the_middle(grad);
    return {place(x, spec.stored_x ? stored : at::kBFloat16, device, spec.x, around),
            place(bell({spec.out, spec.in}, seed + 2) * (0.3 * spec.magnitude), stored, device, spec.weight,
                  around),
            place(grad, at::kBFloat16, device, spec.gradient, around)};
}

// Operands of one layer, twice in a step, with another call of it in between.
void check_step(const QuantizeSpec& spec, Binding& binding, const LayerData& data, const LayerData& other,
                Findings& findings) {
    const LinearNeeds needs{spec.only != "weight", spec.only != "x"};
    const auto make = [&] {
        Quantized made = quantize(binding, data, spec.needs, findings);
        if (made.refused || !spec.needs) return made;
        quantize(binding, other, spec.needs, findings);
        add_gradients(binding, data, needs, made);
        return made;
    };
    const Snapshot snapshot({data.x, data.weight_OI, data.grad_RO});
    const Quantized made = make();
    const int changed = snapshot.changed();
    const char* const names[] = {"x", "weight", "the gradient"};
    if (changed >= 0)
        findings.add("modified_input", std::string(names[changed]) + " was changed by the call");
    if (made.refused) return;
    check_inputs("", data, made, "wrong_operand", findings);
    if (spec.needs) check_gradients("", data, needs, made, "wrong_operand", findings);
    if (!same_bits(make(), made))
        findings.add("nondeterministic", "operands of two equal calls of a step differ");
}

}  // namespace

const LinearSite quantized_site{"encoder.1.attention.q", 1, 4};

bool quantizes(const Precision& policy) {
    const DType dtype = policy.compute(OpClass::linear, quantized_site.name);
    return dtype == DType::float8_e4m3fn || dtype == DType::float8_e5m2;
}

Quantized quantize(Binding& binding, const LayerData& data, bool for_gradient, Findings& findings) {
    const at::NoGradGuard no_grad;
    Quantized made;
    binding.take_executed();
    made.refused =
        !policy_of(binding).quantize({data.x, data.weight_OI, {}}, quantized_site, for_gradient, made.inputs);
    findings.check_executed(binding, 1);
    return made;
}

void add_gradients(Binding& binding, const LayerData& data, const LinearNeeds& needs, Quantized& made) {
    const at::NoGradGuard no_grad;
    const auto handed_back = [](const at::Tensor& tensor) {
        return tensor.defined() ? tensor.detach() : tensor;
    };
    const LinearOperand& kept = made.inputs.kept_x;
    made.gradients = policy_of(binding).quantize_gradient(
        data.grad_RO, handed_back(data.weight_OI),
        {handed_back(kept.values), handed_back(kept.inverse_scale), kept.group}, quantized_site, needs);
}

void check_inputs(const std::string& when, const LayerData& data, const Quantized& made, const char* code,
                  Findings& findings) {
    check_operand(when + "x", made.inputs.x, plain_rows(data.x), code, findings);
    check_operand(when + "weight", made.inputs.weight, plain_rows(data.weight_OI), code, findings);
}

void check_gradients(const std::string& when, const LayerData& data, const LinearNeeds& needs,
                     const Quantized& made, const char* code, Findings& findings) {
    const at::Tensor grad = plain_rows(data.grad_RO);
    const QuantizedGradients& gradients = made.gradients;
    if (needs.x) {
        check_operand(when + "grad for the gradient of x", gradients.grad, grad, code, findings);
        check_operand(when + "weight for the gradient of x", gradients.weight, plain_rows(data.weight_OI).t(),
                      code, findings);
    }
    if (needs.weight) {
        check_operand(when + "grad for the gradient of the weight", gradients.grad_t, grad.t(), code,
                      findings);
        check_operand(when + "x for the gradient of the weight", gradients.kept_x, plain_rows(data.x).t(),
                      code, findings);
    }
}

bool same_bits(const Quantized& a, const Quantized& b) {
    const auto &g = a.gradients, &h = b.gradients;
    return a.refused == b.refused && same_bits(a.inputs.x, b.inputs.x) &&
           same_bits(a.inputs.weight, b.inputs.weight) && same_bits(a.inputs.kept_x, b.inputs.kept_x) &&
           same_bits(g.grad, h.grad) && same_bits(g.weight, h.weight) && same_bits(g.grad_t, h.grad_t) &&
           same_bits(g.kept_x, h.kept_x);
}

std::string name_of(const QuantizeSpec& spec) {
    std::ostringstream text;
    text << "precision/quantize/" << spec.family << "/" << short_name(spec.dtype) << "/";
    for (const std::int64_t size : spec.rows) text << size << "x";
    text << spec.in << "x" << spec.out;
    if (!spec.needs) text << "/grad_none";
    if (!spec.only.empty()) text << "/grad_" << spec.only;
    return text.str();
}

void run_quantize(const QuantizeSpec& spec, const std::shared_ptr<const PrecisionRequest>& request,
                  const VerifyOptions& options, Findings& findings) {
    Binding binding(findings.component(), request);
    Precision& policy = policy_of(binding);
    if (!quantizes(policy)) return;
    const auto stored = to_scalar_type(policy.storage(OpClass::linear, quantized_site.name));
    const std::uint64_t seed = seed_of(name_of(spec), options.seed);
    const LayerData data = data_of(spec, options, stored, seed);
    LayerData other = data_of(spec, options, stored, seed + 7);
    other.weight_OI = data.weight_OI;
    // A policy that scales by earlier steps learns of magnitudes in the first; the usual ones it must serve
    // at once.
    for (int step = 0; step < 2 && !findings.any(); ++step) {
        policy.begin_step();
        if (step == 0 && spec.magnitude != 1.0) {
            Quantized made = quantize(binding, data, true, findings);
            if (!made.refused) add_gradients(binding, data, {}, made);
        } else {
            check_step(spec, binding, data, other, findings);
        }
        policy.end_step();
        policy.update(spec.infinity || spec.nan);
    }
}

}  // namespace switchyard::conformance
