// Cases of norm(residual + dropout(x + bias)): both norms, each part there or not, widths at the edges, every
// placement.
#include <cmath>
#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <switchyard/conformance/cases.h>
#include <switchyard/conformance/hidden_states.h>
#include <switchyard/conformance/tolerance.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/normalization.h>

namespace switchyard::conformance {
namespace {

struct NormSpec : HiddenSpec {
    NormKind norm = NormKind::layer_norm;
    bool bias = false, residual = false, beta = true;
    double center = 0.0, spread = 1.0;  // of x
    double eps = 1e-5;
    std::string only = "";  // the one input whose gradient is asked for; empty: all
};

std::string full_name(const NormSpec& spec) {
    std::string parts;
    if (spec.bias) parts += "+bias";
    if (spec.residual) parts += "+residual";
    if (spec.dropout > 0.0) parts += "+dropout";
    if (spec.norm == NormKind::layer_norm && !spec.beta) parts += "-beta";
    return "normalization/" + std::string(name(spec.norm)) + parts + "/" +
           name_of(static_cast<const HiddenSpec&>(spec)) + (spec.only.empty() ? "" : "/grad_" + spec.only);
}

NormalizationInputs as_inputs(const Tensors& t) { return {t[0], t[1], t[2], t[3], t[4]}; }

Tensors make_inputs(const NormSpec& spec, const VerifyOptions& options, const Variation& variation,
                    std::uint64_t seed) {
    const at::Device device(to_device_type(options.device));
    const auto type = to_scalar_type(spec.dtype);
    const auto parameter_type = spec.wide_parameters && spec.dtype != DType::float64 ? at::kFloat : type;
    const double around = surroundings(variation);
    const Placement placement = variation.strided ? spec.placement : Placement::dense;
    const auto sizes = hidden_sizes(spec, spec.width);
    const bool shown = spec.count_dropped;
    Tensors inputs(5);
    inputs[0] =
        place(shown ? at::full(sizes, 1.0, at::kDouble) : bell(sizes, seed + 1) * spec.spread + spec.center,
              type, device, placement, around);
    if (spec.nan) put_nan_in_the_middle(inputs[0]);
    if (spec.bias) inputs[1] = place(bell({spec.width}, seed + 2), type, device, Placement::dense, around);
    if (spec.residual)
        inputs[2] = place(bell(sizes, seed + 3), type, device,
                          placement == Placement::expanded ? Placement::dense : placement, around);
    inputs[3] = place(bell({spec.width}, seed + 4) + 1.0, parameter_type, device, Placement::dense, around);
    if (spec.norm == NormKind::layer_norm && spec.beta) {
        inputs[4] = place(bell({spec.width}, seed + 5), parameter_type, device, Placement::dense, around);
    }
    return inputs;
}

std::shared_ptr<NormalizationRequest> request_of(const NormSpec& spec, const VerifyOptions& options) {
    auto request = std::make_shared<NormalizationRequest>();
    fill_request(*request, spec, options);
    request->norm = spec.norm;
    request->rows = spec.batch * spec.seq;
    request->width = spec.width;
    request->parameter_dtype =
        spec.wide_parameters && spec.dtype != DType::float64 ? DType::float32 : spec.dtype;
    request->affine_bias = spec.norm == NormKind::layer_norm && spec.beta;
    request->input_bias = spec.bias;
    request->residual = spec.residual;
    request->dropout = spec.dropout;
    return request;
}

// The normalized x of layer_norm is x * rstd - mean * rstd in fused kernels. The mean and the two products
// are rounded, each to within u |center| / spread: together, in the root mean square, below 2 u |center| /
// spread; cancellation brings out what was there before (Higham, Accuracy and Stability of Numerical
// Algorithms, 2nd ed., section 1.7). The reference subtracts first, so it has the mean's error only. Besides
// there is about 2 u of its own size, 1. The gradient of the weight is a sum of such values, so off by 2 u (1
// + |center| / spread) of itself: the judge's floor of 2 u, with u larger. rms_norm subtracts nothing.
double gradient_roundoff(const NormSpec& spec) {
    const double u = unit_roundoff(spec.dtype == DType::float64 ? at::kDouble : at::kFloat);
    return spec.norm == NormKind::layer_norm ? u * (1.0 + std::abs(spec.center) / spec.spread) : u;
}

OperationCase make_case(NormSpec spec, const Facts& facts, const VerifyOptions& options) {
    spec.needs = spec.needs && has_gradient(facts);
    OperationCase one{full_name(spec), request_of(spec, options), {}, spec.threaded ? 2 : 1};
    one.make = [spec, &facts, &options](const Variation& variation) {
        const std::uint64_t seed = seed_of(full_name(spec), options.seed, variation.draw);
        NormalizationParams params{spec.norm, spec.eps, {spec.dropout, seed ^ 77}, tokens_of(spec, options)};
        const bool has_sum = spec.bias || spec.residual || spec.dropout > 0.0;
        Operation operation;
        operation.input_names = {"x", "bias", "residual", "weight", "beta"};
        operation.output_names = {"y", "sum"};
        operation.inputs = make_inputs(spec, options, variation, seed);
        for (const char* input : operation.input_names) {
            operation.needs.push_back(spec.needs && (spec.only.empty() || spec.only == input));
        }
        operation.others = {params.tokens.cu_seqlens, params.tokens.positions};
        const Placement placement = variation.strided ? spec.grad_placement : Placement::dense;
        const auto grad = [&](std::uint64_t salt) {
            return place(bell(hidden_sizes(spec, spec.width), seed + salt), to_scalar_type(spec.dtype),
                         at::Device(to_device_type(options.device)), placement, surroundings(variation));
        };
        operation.grad_outputs = {grad(6), has_sum ? grad(7) : at::Tensor()};
        operation.gradient_roundoff = gradient_roundoff(spec);
        operation.judged = spec.dropout == 0.0 || facts.random == RandomSource::counter;
        operation.reference = [params](const Tensors& inputs) {
            const NormalizationOutputs out = reference::normalization(as_inputs(inputs), params);
            return Tensors{out.y, out.sum};
        };
        operation.forward = [params](void* component, const Tensors& inputs, Saved* saved) {
            const NormalizationOutputs out =
                static_cast<Normalization*>(component)->forward(as_inputs(inputs), params, saved);
            return Tensors{out.y, out.sum};
        };
        operation.backward = [params](void* component, const Saved& saved, const Tensors& grads,
                                      const std::vector<bool>& needs) {
            const NormalizationGrads g = static_cast<Normalization*>(component)->backward(
                params, saved, grads[0], grads[1], {needs[0], needs[1], needs[2], needs[3], needs[4]});
            return Tensors{g.x, g.bias, g.residual, g.weight, g.beta};
        };
        if (spec.count_dropped) {
            operation.inspect = [spec, params, &facts](const Outcome& found, std::vector<Fault>& faults) {
                inspect_dropout(found.outputs[1], 1.0, spec, params.dropout, params.tokens, facts, faults);
            };
        }
        return operation;
    };
    return one;
}

// The sum is rounded to its dtype before or after the statistics, as a kernel likes. Few channels of a
// narrow dtype are then equal in one kernel and a little apart in another, where the gradient, which is
// about 1 / sqrt(variance + eps), has all values up to 1 / sqrt(eps): 1e6, which is infinite in float16.
bool rounding_decides(const NormSpec& spec) {
    const bool sums = spec.bias || spec.residual || spec.dropout > 0.0;
    const bool narrow = spec.dtype == DType::bfloat16 || spec.dtype == DType::float16;
    return sums && narrow && spec.width < 8;
}

void add(std::vector<NormSpec>& specs, NormSpec base) {
    const auto with = [&](const char* family, auto change) {
        NormSpec spec = base;
        spec.family = family;
        change(spec);
        specs.push_back(spec);
    };
    for (const std::int64_t width : {1, 7, 64, 768, 1023, 4097}) {
        with("width", [&](NormSpec& s) { s.width = width; });
        with("width", [&](NormSpec& s) { s.width = width, s.wide_parameters = false, s.needs = false; });
    }
    for (const std::int64_t seq : {0, 1, 65}) with("rows", [&](NormSpec& s) { s.seq = seq, s.width = 129; });
    with("rows", [&](NormSpec& s) { s.batch = 0; });
    with("threads", [&](NormSpec& s) { s.batch = 4, s.seq = 129, s.width = 257, s.threaded = true; });
    with("packed", [&](NormSpec& s) { s.layout = Layout::packed, s.width = 96; });
    with("narrow", [&](NormSpec& s) { s.width = 96, s.wide_parameters = false; });
    for (const Placement placement :
         {Placement::permuted, Placement::sliced, Placement::stepped, Placement::expanded}) {
        with((std::string("stride/") + name(placement)).c_str(),
             [&](NormSpec& s) { s.placement = s.grad_placement = placement; });
    }
    with("deterministic", [&](NormSpec& s) { s.deterministic = true, s.seq = 64; });
    // A large mean loses digits in one-pass formulas; a small spread shows where eps stands.
    with("center16", [&](NormSpec& s) { s.center = 16.0, s.width = 256; });
    with("spread0.003", [&](NormSpec& s) { s.spread = 0.003; });
    with("eps0.1", [&](NormSpec& s) { s.eps = 0.1; });
    with("nan", [&](NormSpec& s) { s.nan = true, s.width = 200; });
}

void add_dropout(std::vector<NormSpec>& specs, const NormSpec& base) {
    for (const Layout layout : {Layout::padded, Layout::packed}) {
        for (const double p : {0.1, 0.5}) {
            NormSpec spec = base;
            spec.family = "dropout";
            spec.layout = layout;
            spec.dropout = p;
            spec.width = 200;
            spec.first_document = 5;
            specs.push_back(spec);
            if (spec.bias || spec.residual) continue;
            spec.seq = 40;
            spec.count_dropped = true;
            specs.push_back(spec);
        }
    }
}

void add_in_turn(std::vector<OperationCase>& cases, DType dtype, const Facts& facts,
                 const VerifyOptions& options) {
    NormSpec few;
    few.dtype = dtype;
    few.bias = few.residual = true;
    few.width = 200;
    few.dropout = 0.2;
    NormSpec many = few;
    many.batch = 3;
    many.seq = 65;
    add_rows_in_turn<NormalizationRequest>(
        cases, few, many, [&](const NormSpec& spec) { return make_case(spec, facts, options); });
}

}  // namespace

std::vector<OperationCase> listed_cases(KindTraits<Kind::normalization>, const Facts& facts,
                                        const VerifyOptions& options) {
    std::vector<NormSpec> specs;
    for (const DType dtype : options.dtypes) {
        for (const NormKind norm : {NormKind::layer_norm, NormKind::rms_norm}) {
            NormSpec spec;
            spec.dtype = dtype;
            spec.norm = norm;
            add(specs, spec);
            add_dropout(specs, spec);
            for (const char* only : {"x", "weight", "beta"}) {
                if (norm == NormKind::rms_norm && *only == 'b') continue;
                NormSpec partial = spec;
                partial.family = "needs";
                partial.only = only;
                specs.push_back(partial);
            }
            spec.beta = false;
            spec.family = "no_beta";
            if (norm == NormKind::layer_norm) specs.push_back(spec);
            spec.beta = true;
            spec.residual = true;
            add(specs, spec);
            spec.bias = true;
            add(specs, spec);
            add_dropout(specs, spec);
            for (const char* only : {"x", "bias", "residual", "weight"}) {
                NormSpec partial = spec;
                partial.family = "needs";
                partial.only = only;
                specs.push_back(partial);
            }
        }
    }
    std::vector<OperationCase> cases;
    for (const NormSpec& spec : specs) cases.push_back(make_case(spec, facts, options));
    for (const DType dtype : options.dtypes) add_in_turn(cases, dtype, facts, options);
    return cases;
}

OperationCase drawn_case(KindTraits<Kind::normalization>, Draw& draw, const Facts& facts,
                         const VerifyOptions& options) {
    NormSpec spec;
    draw_hidden(spec, draw, options.dtypes);
    spec.norm = draw.one_of({NormKind::layer_norm, NormKind::rms_norm});
    spec.bias = draw.special(0.4);
    spec.residual = draw.special(0.5);
    spec.beta = spec.norm == NormKind::rms_norm || draw.chance(0.7);
    spec.eps = draw.one_of({1e-12, 1e-6, 1e-5, 1e-2});
    if (rounding_decides(spec)) spec.eps = 1e-2;
    if (draw.special(0.3)) spec.spread = static_cast<double>(draw.size(1, 1000)) / 100.0;
    if (draw.special(0.3)) spec.center = spec.spread * static_cast<double>(draw.between(-16, 16));
    if (spec.needs && draw.special(0.25)) {
        std::vector<std::string> inputs = {"x", "weight"};
        if (spec.bias) inputs.emplace_back("bias");
        if (spec.residual) inputs.emplace_back("residual");
        if (spec.norm == NormKind::layer_norm && spec.beta) inputs.emplace_back("beta");
        spec.only = draw.one_of(inputs);
    }
    std::ostringstream text;
    text << spec.detail << "/eps" << spec.eps << "/center" << spec.center << "/spread" << spec.spread;
    spec.detail = text.str();
    return make_case(spec, facts, options);
}

OperationCase requested_case(const NormalizationRequest& asked, RequestDraw& draw, const Facts& facts,
                             const VerifyOptions& options) {
    NormSpec spec;
    request_hidden(spec, asked, asked.rows, asked.width, draw);
    spec.norm = asked.norm;
    spec.bias = asked.input_bias;
    spec.residual = asked.residual;
    spec.beta = asked.affine_bias;
    spec.dropout = asked.dropout;
    spec.wide_parameters = asked.parameter_dtype == DType::float32;
    return make_case(spec, facts, options);
}

}  // namespace switchyard::conformance
