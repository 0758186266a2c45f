// Cases of linear layers: the three products, dense and in 8 bits, with weights plain and prepared; sizes at
// the edges and past those at which products are cut up, every placement.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <sstream>

#include <ATen/TensorOperators.h>

#include <switchyard/conformance/cases.h>
#include <switchyard/conformance/linear_calls.h>
#include <switchyard/conformance/tolerance.h>
#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/linear.h>

namespace switchyard::conformance {
namespace {

// Of a component that is made for scaled operands.
const OperandForm scaled_forms[] = {{"scaled_dense", true, false},
                                    {"scaled_tensor", true, true},
                                    {"scaled_row", true, true, ScaleGroup::row, ScaleGroup::row},
                                    {"scaled_block", true, true, ScaleGroup::strip, ScaleGroup::square}};

// Weights stored in 8 and 4 bits, x as it comes and in 8 bits.
const OperandForm quantized_forms[] = {
    {.name = "int8_row", .quantization = {8, 0}},
    {.name = "int8_groups", .quantization = {8, 32, true}},
    {.name = "int4_groups", .quantization = {4, 32}},
    {.name = "int4_zero_points", .quantization = {4, 64, true}},
    {.name = "int4_row", .quantization = {4, 0, true}},
    {.name = "int8_dynamic", .quantization = {8, 0}, .input = InputQuantization::dynamic},
    {.name = "int8_dynamic_groups", .quantization = {8, 128, true}, .input = InputQuantization::dynamic},
    {.name = "int4_dynamic", .quantization = {4, 16}, .input = InputQuantization::dynamic},
    {.name = "int8_static", .quantization = {8, 0}, .input = InputQuantization::fixed}};

// "linear/dense+bias/stride/x_sliced/f32/10x64x48".
std::string name_of(const LinearSpec& spec) {
    std::ostringstream text;
    text << "linear/" << spec.form.name << (spec.bias ? "+bias/" : "/") << spec.family << "/"
         << short_name(spec.dtype) << "/" << spec.rows << "x" << spec.in << "x" << spec.out;
    if (spec.prepared) text << "/prepared";
    if (!spec.needs) text << "/grad_none";
    if (!spec.only.empty()) text << "/grad_" << spec.only;
    return text.str();
}

// To the eleven significant digits of TensorFloat-32 (Dekker 1971, A floating-point technique for extending
// the available precision, Numer. Math. 18: the splitting).
at::Tensor as_tf32(const at::Tensor& x) {
    const at::Tensor large = x * 8193.0;
    return large - (large - x);
}

// What the floor of a product takes as roundoff. A sum of k terms may be made one after the other, which errs
// by u sqrt(k / 6) of its size in the root mean square where terms are of mean 0 (Higham & Mary 2019, A new
// approach to probabilistic rounding error analysis, SIAM J. Sci. Comput. 41); the reference's may be made of
// shorter ones. The floor is twice the roundoff.
double sum_roundoff(DType dtype, std::int64_t terms) {
    const double sums_in = unit_roundoff(dtype == DType::float64 ? at::kDouble : at::kFloat);
    return std::max(unit_roundoff(to_scalar_type(dtype)),
                    sums_in * 0.5 * std::sqrt(static_cast<double>(terms) / 6.0));
}

// In the numbers that the quantized weight asks for, which are float32's.
Tensors quantized_reference(const OperandForm& form, const QuantizedWeight& weight, const Tensors& inputs) {
    const auto type = inputs[0].scalar_type();
    const bool rounds = form.input != InputQuantization::none;
    const at::Tensor x = rounds ? reference::requantized_input(inputs[0], weight.input_scale) : inputs[0];
    return {reference::linear(x.to(type), reference::dequantized(weight).to(type), inputs[2])};
}

Tensors reference_of(const LinearSpec& spec, const Tensors& inputs) {
    const bool rounds = spec.tf32 && inputs[0].scalar_type() == at::kFloat;
    const at::Tensor x = rounds ? as_tf32(inputs[0]) : inputs[0];
    const at::Tensor weight = rounds ? as_tf32(inputs[1]) : inputs[1];
    const at::Tensor y = reference::linear(x, weight, inputs[2]);
    if (!spec.prepared) return {y};
    return {y, reference::linear(x, weight.neg(), inputs[2]).detach()};
}

// x [R, I], weight [O, I], bias [O].
Tensors make_inputs(const LinearSpec& spec, const VerifyOptions& options, const Variation& variation,
                    std::uint64_t seed) {
    const at::Device device(to_device_type(options.device));
    const auto type = to_scalar_type(spec.dtype);
    const auto placed = [&](const at::Tensor& values, at::ScalarType of, Placement placement) {
        return place(values, of, device, variation.strided ? placement : Placement::dense,
                     surroundings(variation));
    };
    const bool scaled = spec.form.operands_scaled;
    const at::Tensor x = scaled ? scaled_numbers(spec.rows, spec.in, OperandRole::x, seed + 1)
                                : bell({spec.rows, spec.in}, seed + 1);
    const at::Tensor weight = scaled ? scaled_numbers(spec.out, spec.in, OperandRole::weight, seed + 2)
                                     : bell({spec.out, spec.in}, seed + 2) * 0.3;
    if (spec.infinity) x.view({-1})[0].fill_(std::numeric_limits<double>::infinity());
    if (spec.nan) put_nan_in_the_middle(x);
    Tensors inputs{placed(x, type, spec.x), placed(weight, type, spec.weight), at::Tensor()};
    if (spec.bias)
        inputs[2] = placed(bell({spec.out}, seed + 3), scaled ? at::kFloat : type, Placement::dense);
    return inputs;
}

at::Tensor make_gradient(const LinearSpec& spec, const VerifyOptions& options, const Variation& variation,
                         std::uint64_t seed) {
    const at::Tensor values = spec.form.operands_scaled
                                  ? scaled_numbers(spec.rows, spec.out, OperandRole::gradient, seed + 4)
                                  : bell({spec.rows, spec.out}, seed + 4);
    return place(values, to_scalar_type(spec.dtype), at::Device(to_device_type(options.device)),
                 variation.strided ? spec.gradient : Placement::dense, surroundings(variation));
}

// The root mean square of sums of random signs of x_k w_k.
double natural_outputs(const at::Tensor& x_RI, const at::Tensor& weight_OI) {
    const auto squares = [](const at::Tensor& t) {
        return t.detach().to(at::kDouble).nan_to_num(0.0, 0.0, 0.0).square();
    };
    const at::Tensor sums = squares(x_RI).mm(squares(weight_OI).t());
    return sums.numel() == 0 ? 0.0 : std::sqrt(sums.mean().item<double>());
}

Operation make_operation(const LinearSpec& spec, const VerifyOptions& options, const Variation& variation) {
    const std::uint64_t seed = seed_of(name_of(spec), options.seed, variation.draw);
    Operation operation;
    operation.input_names = {"x", "weight", "bias"};
    operation.output_names = {"y"};
    if (spec.prepared) operation.output_names.push_back("y of another weight");
    operation.inputs = make_inputs(spec, options, variation, seed);
    operation.needs = {spec.needs && spec.only != "weight", spec.needs && spec.only != "x", false};
    operation.grad_outputs = {make_gradient(spec, options, variation, seed)};
    operation.grad_outputs.resize(operation.output_names.size());
    operation.output_roundoff = sum_roundoff(spec.dtype, spec.in);
    operation.gradient_roundoff = sum_roundoff(spec.dtype, std::max(spec.rows, spec.out));
    operation.natural_outputs = natural_outputs(operation.inputs[0], operation.inputs[1]);
    operation.executions = static_cast<int>(operation.output_names.size());
    const auto calls =
        std::make_shared<LinearCalls>(spec, operation.inputs, operation.grad_outputs[0], variation);
    operation.others = calls->operands();
    if (spec.form.quantized()) {
        operation.exact = true;
        const auto weight = quantized_weight(spec.form, operation.inputs[1]);
        operation.reference = [form = spec.form, weight](const Tensors& inputs) {
            return quantized_reference(form, weight, inputs);
        };
    } else {
        operation.reference = [spec](const Tensors& inputs) { return reference_of(spec, inputs); };
    }
    operation.forward = [calls](void* component, const Tensors& inputs, Saved* saved) {
        return calls->forward(*static_cast<Linear*>(component), inputs, saved);
    };
    operation.backward = [calls](void* component, const Saved& saved, const Tensors& grads,
                                 const std::vector<bool>& needs) {
        return calls->backward(*static_cast<Linear*>(component), saved, grads, needs);
    };
    operation.inspect = [calls](const Outcome&, std::vector<Fault>& faults) { calls->inspect(faults); };
    return operation;
}

// Autograd follows neither forms of a component's own nor casts to 8 bits.
bool can_have_gradient(const LinearSpec& spec, const Facts& facts) {
    if (spec.form.quantized()) return false;
    const bool opaque = spec.prepared || spec.form.operands_scaled;
    return opaque ? facts.gradient == GradientMode::kernel : has_gradient(facts);
}

void ask_for_quantized(LinearRequest& request, const OperandForm& form) {
    request.weight_format = WeightFormat::quantized;
    request.weight_bits = form.quantization.bits;
    request.weight_group = form.quantization.group;
    request.zero_points = form.quantization.zero_points;
    request.input_quantization = form.input;
}

OperationCase make_case(LinearSpec spec, const Facts& facts, const VerifyOptions& options) {
    spec.needs = spec.needs && can_have_gradient(spec, facts);
    if (!spec.needs) spec.only.clear();
    auto request = std::make_shared<LinearRequest>();
    request->dtype = request->weight_dtype = spec.form.request_scaled ? DType::float8_e4m3fn : spec.dtype;
    request->output_dtype = spec.dtype;
    request->weight_format = spec.form.request_scaled ? WeightFormat::scaled : WeightFormat::dense;
    if (spec.form.quantized()) ask_for_quantized(*request, spec.form);
    request->device = options.device;
    request->phase = spec.needs ? Phase::train : Phase::eval;
    request->needs_grad = spec.needs;
    request->deterministic = spec.deterministic;
    request->allow_reduced = true;
    request->rows = spec.rows;
    request->in = spec.in;
    request->out = spec.out;
    request->bias = spec.bias;
    request->tf32 = spec.tf32;
    OperationCase one{name_of(spec), request, {}, spec.threads};
    one.make = [spec, &options](const Variation& variation) {
        return make_operation(spec, options, variation);
    };
    one.computes = spec.dtype;
    return one;
}

class Specs {
public:
    explicit Specs(LinearSpec base) : base_(std::move(base)) {}

    void add_all() {
        add_products();
        for (const std::int64_t rows : {0, 2, 24}) with("shape", [&](LinearSpec& s) { s.rows = rows; });
        for (const Placement placement :
             {Placement::permuted, Placement::sliced, Placement::stepped, Placement::expanded}) {
            const std::string how = name(placement);
            with("stride/x_" + how, [&](LinearSpec& s) { s.x = placement; });
            with("stride/gradient_" + how, [&](LinearSpec& s) { s.gradient = placement; });
            if (placement == Placement::expanded) continue;
            with_forms("stride/weight_" + how, [&](LinearSpec& s) { s.weight = placement; });
        }
        with("infinity", [](LinearSpec& s) { s.infinity = true; });
        if (base_.dtype == DType::float32) with("tf32", [](LinearSpec& s) { s.tf32 = true, s.in = 300; });
    }

    void add_quantized() {
        with("plain", [](LinearSpec&) {});
        for (const std::int64_t rows : {0, 1, 2, 7, 8, 9, 130})
            with("shape", [&](LinearSpec& s) { s.rows = rows; });
        for (const std::int64_t in : {1, 7, 129, 1100}) with("in", [&](LinearSpec& s) { s.in = in; });
        for (const std::int64_t out : {1, 7, 129}) with("out", [&](LinearSpec& s) { s.out = out; });
        with("one_row", [](LinearSpec& s) { s.rows = 1, s.in = 1100, s.out = 131, s.threads = 2; });
        with("threads", [](LinearSpec& s) { s.rows = 130, s.in = 300, s.out = 257, s.threads = 2; });
        with("deterministic", [](LinearSpec& s) { s.deterministic = true; });
        with("nan", [](LinearSpec& s) { s.nan = true; });
        with("stride/x_sliced", [](LinearSpec& s) { s.x = Placement::sliced; });
        with("stride/x_permuted", [](LinearSpec& s) { s.x = Placement::permuted; });
    }

    // What every form of the operands has.
    void add_products() {
        with_forms("plain", [](LinearSpec&) {});
        for (const std::int64_t rows : {1, 7, 130}) with("shape", [&](LinearSpec& s) { s.rows = rows; });
        for (const std::int64_t in : {1, 7, 129, 1100}) with_forms("in", [&](LinearSpec& s) { s.in = in; });
        for (const std::int64_t out : {1, 7, 129}) with_forms("out", [&](LinearSpec& s) { s.out = out; });
        with_forms("square", [](LinearSpec& s) { s.out = s.in; });
        // Past the sizes at which products are cut up and summed in pieces.
        // LibTorch's own products in float16 take seconds there on a CPU.
        const std::int64_t many = base_.dtype == DType::float16 ? 140 : 1090;
        with("long", [&](LinearSpec& s) { s.rows = many, s.in = 1100, s.out = 66, s.threads = 2; });
        with_forms("long", [](LinearSpec& s) { s.rows = 70, s.in = 66, s.out = 1100; });
        with_forms("eval", [](LinearSpec& s) { s.needs = false; });
        with("deterministic", [](LinearSpec& s) { s.deterministic = true; });
        with("threads", [](LinearSpec& s) { s.rows = 130, s.in = 300, s.out = 257, s.threads = 2; });
        with("nan", [](LinearSpec& s) { s.nan = true; });
        if (base_.form.operands_scaled) {
            for (const Placement placement : {Placement::permuted, Placement::sliced})
                with(std::string("stride/") + name(placement), [&](LinearSpec& s) { s.scaled = placement; });
        }
        for (const char* only : {"x", "weight"}) with_forms("needs", [&](LinearSpec& s) { s.only = only; });
    }

    std::vector<LinearSpec> all;

private:
    template <class Change>
    void with(const std::string& family, Change change) {
        LinearSpec spec = base_;
        spec.family = family;
        change(spec);
        all.push_back(spec);
    }

    // Also with a form of the weight that the component prepares.
    template <class Change>
    void with_forms(const std::string& family, Change change) {
        with(family, change);
        if (base_.form.operands_scaled) return;
        with(family, [&](LinearSpec& s) { change(s), s.prepared = true; });
    }

    LinearSpec base_;
};

// The cases of one base: of a dtype and a form of operands.
void add_cases(std::vector<OperationCase>& cases, const LinearSpec& base, const Facts& facts,
               const VerifyOptions& options) {
    const auto make = [&](const LinearSpec& spec) { return make_case(spec, facts, options); };
    Specs specs(base);
    if (base.form.quantized())
        specs.add_quantized();
    else
        base.form.operands_scaled ? specs.add_products() : specs.add_all();
    for (const LinearSpec& spec : specs.all) {
        // Of a weight that is rounded to 0, infinity makes NaN.
        if (spec.infinity && facts.accuracy_bound > 0.0) continue;
        if (spec.only.empty() || can_have_gradient(spec, facts)) cases.push_back(make(spec));
    }
    for (const bool prepared : {false, true}) {
        if (prepared && (base.form.operands_scaled || base.form.quantized())) continue;
        LinearSpec few = base, many = base;
        few.prepared = many.prepared = prepared;
        many.rows = 130;
        add_rows_in_turn<LinearRequest>(cases, few, many, make);
    }
}

}  // namespace

std::vector<OperationCase> listed_cases(KindTraits<Kind::linear>, const Facts& facts,
                                        const VerifyOptions& options) {
    std::vector<OperationCase> cases;
    for (const DType dtype : options.dtypes) {
        for (const bool bias : {false, true}) {
            LinearSpec base;
            base.dtype = dtype;
            base.bias = bias;
            add_cases(cases, base, facts, options);
            for (const OperandForm& form : quantized_forms) {
                base.form = form;
                if (dtype != DType::float64) add_cases(cases, base, facts, options);
            }
            if (dtype != DType::bfloat16) continue;
            for (const OperandForm& form : scaled_forms) {
                base.form = form;
                add_cases(cases, base, facts, options);
            }
        }
    }
    return cases;
}

OperationCase drawn_case(KindTraits<Kind::linear>, Draw& draw, const Facts& facts,
                         const VerifyOptions& options) {
    LinearSpec spec;
    spec.family = draw.family();
    spec.dtype = draw.one_of(options.dtypes);
    if (spec.dtype == DType::bfloat16 && draw.chance(0.5))
        spec.form = draw.one_of(std::vector<OperandForm>(std::begin(scaled_forms), std::end(scaled_forms)));
    else if (spec.dtype != DType::float64 && draw.chance(0.4))
        spec.form =
            draw.one_of(std::vector<OperandForm>(std::begin(quantized_forms), std::end(quantized_forms)));
    spec.bias = draw.chance(0.5);
    spec.in = draw.size(1, 1500);
    spec.out = draw.size(1, 1500);
    spec.rows = draw.size(1, std::clamp<std::int64_t>(2000000 / (spec.in * spec.out), 1, 300));
    const auto placement = [&] {
        return draw.special(0.25) ? draw.one_of({Placement::permuted, Placement::sliced, Placement::stepped})
                                  : Placement::dense;
    };
    if (spec.form.quantized()) {
        spec.x = placement();
    } else if (!spec.form.operands_scaled) {
        spec.x = placement();
        spec.weight = placement();
        spec.gradient = placement();
    } else {
        spec.scaled = placement();
    }
    spec.prepared = !spec.form.operands_scaled && !spec.form.quantized() && draw.special(0.4);
    spec.tf32 = spec.dtype == DType::float32 && !spec.form.quantized() && draw.special(0.1);
    spec.needs = !draw.special(0.2);
    spec.deterministic = draw.special(0.15);
    if (draw.special(0.2)) spec.threads = 2;
    if (spec.needs && draw.special(0.2)) spec.only = draw.chance(0.5) ? "x" : "weight";
    return make_case(spec, facts, options);
}

OperationCase requested_case(const LinearRequest& asked, RequestDraw& draw, const Facts& facts,
                             const VerifyOptions& options) {
    constexpr std::int64_t most_products = 100000000, most_values = 1000000;
    LinearSpec spec;
    spec.family = draw.family();
    spec.dtype = asked.output_dtype;
    if (asked.weight_format == WeightFormat::scaled) {
        spec.form = draw.one_of(std::vector<OperandForm>(std::begin(scaled_forms), std::end(scaled_forms)));
        spec.form.request_scaled = true;
    }
    if (asked.weight_format == WeightFormat::quantized)
        spec.form = {.name = "quantized",
                     .quantization = {asked.weight_bits, asked.weight_group, asked.zero_points},
                     .input = asked.input_quantization};
    spec.in = asked.in;
    spec.out = asked.out;
    spec.rows = draw.within(
        asked.rows, std::min(most_products / (spec.in * spec.out), most_values / (spec.in + spec.out)) + 1);
    spec.bias = asked.bias;
    spec.tf32 = asked.tf32;
    spec.needs = asked.needs_grad;
    spec.deterministic = asked.deterministic;
    spec.prepared = asked.weight_format == WeightFormat::dense && draw.chance(0.5);
    spec.threads = draw.chance(0.5) ? 2 : 1;
    return make_case(spec, facts, options);
}

}  // namespace switchyard::conformance
