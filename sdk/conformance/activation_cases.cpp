// Cases of dropout(act(x + bias)): every kind, gated and plain, widths at the edges, every placement.
#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>

#include <switchyard/conformance/cases.h>
#include <switchyard/conformance/hidden_states.h>
#include <switchyard/conformance/own_formula.h>
#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/activation.h>

namespace switchyard::conformance {
namespace {

struct ActivationSpec : HiddenSpec {
    ActivationKind activation = ActivationKind::gelu_erf;
    bool bias = false;
    double spread = 2.0;      // of x
    std::string only = "";    // the one input whose gradient is asked for; empty: all
    std::string custom = "";  // the activation's name where it is the component's own

    std::int64_t input_width() const { return is_gated(activation) ? 2 * width : width; }
};

bool is_rectifier(ActivationKind kind) {
    return kind == ActivationKind::relu || kind == ActivationKind::reglu;
}

std::string full_name(const ActivationSpec& spec) {
    return "activation/" + formula_name(spec.activation, spec.custom) + (spec.bias ? "+bias" : "") + "/" +
           name_of(static_cast<const HiddenSpec&>(spec)) + (spec.only.empty() ? "" : "/grad_" + spec.only);
}

Tensors make_inputs(const ActivationSpec& spec, const VerifyOptions& options, const Variation& variation,
                    std::uint64_t seed) {
    const at::Device device(to_device_type(options.device));
    const auto type = to_scalar_type(spec.dtype);
    const auto sizes = hidden_sizes(spec, spec.input_width());
    const at::Tensor values =
        spec.count_dropped ? at::full(sizes, 1.0, at::kDouble) : bell(sizes, seed + 1) * spec.spread;
    Tensors inputs(2);
    inputs[0] = place(values, type, device, variation.strided ? spec.placement : Placement::dense,
                      surroundings(variation));
    if (spec.nan) put_nan_in_the_middle(inputs[0]);
    if (spec.bias) {
        const auto bias_type = spec.wide_parameters && spec.dtype != DType::float64 ? at::kFloat : type;
        inputs[1] = place(bell({spec.input_width()}, seed + 2), bias_type, device, Placement::dense,
                          surroundings(variation));
    }
    return inputs;
}

OperationCase make_case(ActivationSpec spec, const Facts& facts, const VerifyOptions& options) {
    spec.needs = spec.needs && has_gradient(facts);
    auto request = std::make_shared<ActivationRequest>();
    fill_request(*request, spec, options);
    request->activation = spec.activation;
    request->rows = spec.batch * spec.seq;
    request->width = spec.width;
    request->input_bias = spec.bias;
    request->dropout = spec.dropout;
    request->custom = spec.custom;
    OperationCase one{full_name(spec), request, {}, spec.threaded ? 2 : 1};
    one.make = [spec, request, &facts, &options](const Variation& variation) {
        const std::uint64_t seed = seed_of(full_name(spec), options.seed, variation.draw);
        const ActivationParams params{spec.activation, {spec.dropout, seed ^ 99}, tokens_of(spec, options)};
        Operation operation;
        operation.input_names = {"x", "bias"};
        operation.output_names = {"y"};
        operation.inputs = make_inputs(spec, options, variation, seed);
        operation.needs = {spec.needs && spec.only != "bias", spec.needs && spec.only != "x"};
        operation.others = {params.tokens.cu_seqlens, params.tokens.positions};
        operation.grad_outputs = {
            place(bell(hidden_sizes(spec, spec.width), seed + 3), to_scalar_type(spec.dtype),
                  at::Device(to_device_type(options.device)),
                  variation.strided ? spec.grad_placement : Placement::dense, surroundings(variation))};
        operation.judged = spec.dropout == 0.0 || facts.random == RandomSource::counter;
        operation.reference = [params](const Tensors& inputs) {
            return Tensors{reference::activation({inputs[0], inputs[1]}, params)};
        };
        if (is_custom(spec.activation)) {
            operation.reference_of = [request, params](const ComponentUnderTest& component) {
                return own_activation(component, *request, params);
            };
            if (spec.dtype == DType::float64) operation.gradient_roundoff = slope_roundoff;
        }
        operation.forward = [params](void* component, const Tensors& inputs, Saved* saved) {
            return Tensors{
                static_cast<Activation*>(component)->forward({inputs[0], inputs[1]}, params, saved)};
        };
        operation.backward = [params](void* component, const Saved& saved, const Tensors& grads,
                                      const std::vector<bool>& needs) {
            const ActivationGrads g =
                static_cast<Activation*>(component)->backward(params, saved, grads[0], {needs[0], needs[1]});
            return Tensors{g.x, g.bias};
        };
        if (spec.count_dropped) {
            operation.inspect = [spec, params, &facts](const Outcome& found, std::vector<Fault>& faults) {
                inspect_dropout(found.outputs[0], 1.0, spec, params.dropout, params.tokens, facts, faults);
            };
        }
        return operation;
    };
    return one;
}

void add(std::vector<ActivationSpec>& specs, const ActivationSpec& base) {
    const auto with = [&](const std::string& family, auto change) {
        ActivationSpec spec = base;
        spec.family = family;
        change(spec);
        specs.push_back(spec);
    };
    for (const std::int64_t width : {1, 7, 64, 1023, 4097})
        with("width", [&](ActivationSpec& s) { s.width = width; });
    for (const std::int64_t seq : {0, 1, 65}) with("rows", [&](ActivationSpec& s) { s.seq = seq; });
    with("eval", [](ActivationSpec& s) { s.needs = false; });
    with("large", [](ActivationSpec& s) { s.spread = 30.0; });
    // What a rectifier's slope at NaN is, is its own affair, and so it is of an activation nobody else knows.
    with("nan", [](ActivationSpec& s) {
        s.nan = true, s.needs = !is_rectifier(s.activation) && !is_custom(s.activation);
    });
    with("threads", [](ActivationSpec& s) { s.seq = 129, s.width = 300, s.threaded = true; });
    with("packed", [](ActivationSpec& s) { s.layout = Layout::packed; });
    with("deterministic", [](ActivationSpec& s) { s.deterministic = true, s.seq = 64; });
    if (base.bias) with("narrow", [](ActivationSpec& s) { s.wide_parameters = false; });
    for (const Placement placement :
         {Placement::permuted, Placement::sliced, Placement::stepped, Placement::expanded}) {
        with(std::string("stride/") + name(placement),
             [&](ActivationSpec& s) { s.placement = s.grad_placement = placement; });
    }
    for (const Layout layout : {Layout::padded, Layout::packed}) {
        with("dropout", [&](ActivationSpec& s) {
            s.layout = layout, s.dropout = 0.3, s.width = 200, s.first_document = 5;
        });
    }
}

void add_in_turn(std::vector<OperationCase>& cases, DType dtype, const Facts& facts,
                 const VerifyOptions& options) {
    ActivationSpec few;
    few.dtype = dtype;
    few.activation = ActivationKind::swiglu;
    few.bias = true;
    few.width = 200;
    few.dropout = 0.2;
    ActivationSpec many = few;
    many.batch = 3;
    many.seq = 65;
    add_rows_in_turn<ActivationRequest>(
        cases, few, many, [&](const ActivationSpec& spec) { return make_case(spec, facts, options); });
}

// The activation of this number: those that everyone knows, then the component's own.
std::size_t activations(const Facts& facts) { return known_formulas<ActivationKind> + facts.custom.size(); }
void set_activation(ActivationSpec& spec, std::size_t number, const Facts& facts) {
    constexpr auto known = known_formulas<ActivationKind>;
    spec.activation = number < known ? static_cast<ActivationKind>(number) : ActivationKind::custom;
    spec.custom = number < known ? "" : facts.custom[number - known];
}

}  // namespace

std::vector<OperationCase> listed_cases(KindTraits<Kind::activation>, const Facts& facts,
                                        const VerifyOptions& options) {
    std::vector<ActivationSpec> specs;
    for (const DType dtype : options.dtypes) {
        for (std::size_t number = 0; number < activations(facts); ++number) {
            ActivationSpec spec;
            spec.dtype = dtype;
            set_activation(spec, number, facts);
            add(specs, spec);
            spec.bias = true;
            add(specs, spec);
            for (const char* only : {"x", "bias"}) {
                spec.family = "needs";
                spec.only = only;
                specs.push_back(spec);
            }
            if (!is_rectifier(spec.activation) && spec.activation != ActivationKind::identity) continue;
            // Of these kinds act(1) is 1, so that the output shows the mask.
            ActivationSpec shown;
            shown.family = "dropout";
            shown.dtype = dtype;
            shown.activation = spec.activation;
            shown.count_dropped = true;
            shown.seq = 40;
            shown.width = 200;
            for (const double p : {0.1, 0.5}) {
                shown.dropout = p;
                specs.push_back(shown);
            }
        }
    }
    std::vector<OperationCase> cases;
    for (const ActivationSpec& spec : specs) cases.push_back(make_case(spec, facts, options));
    for (const DType dtype : options.dtypes) add_in_turn(cases, dtype, facts, options);
    return cases;
}

OperationCase drawn_case(KindTraits<Kind::activation>, Draw& draw, const Facts& facts,
                         const VerifyOptions& options) {
    ActivationSpec spec;
    draw_hidden(spec, draw, options.dtypes);
    const auto number = draw.between(0, static_cast<std::int64_t>(activations(facts)) - 1);
    set_activation(spec, static_cast<std::size_t>(number), facts);
    spec.bias = draw.special(0.5);
    spec.spread = static_cast<double>(draw.size(1, 300)) / 10.0;
    if (spec.needs && draw.special(0.25)) spec.only = spec.bias && draw.chance(0.5) ? "bias" : "x";
    std::ostringstream text;
    text << spec.detail << "/spread" << spec.spread;
    spec.detail = text.str();
    return make_case(spec, facts, options);
}

OperationCase requested_case(const ActivationRequest& asked, RequestDraw& draw, const Facts& facts,
                             const VerifyOptions& options) {
    ActivationSpec spec;
    request_hidden(spec, asked, asked.rows, asked.width, draw);
    spec.activation = asked.activation;
    spec.custom = asked.custom;
    spec.bias = asked.input_bias;
    spec.dropout = asked.dropout;
    return make_case(spec, facts, options);
}

}  // namespace switchyard::conformance
