// Cases of losses. Cross-entropy: given logits and projected ones, every reduction, rows that are ignored,
// vocabularies at the edges. Squared error and binary cross-entropy: every reduction, values without a
// target, predictions far from it.
#include <algorithm>
#include <limits>
#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>

#include <switchyard/conformance/cases.h>
#include <switchyard/conformance/own_formula.h>
#include <switchyard/conformance/values.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/loss.h>

namespace switchyard::conformance {
namespace {

struct LossSpec {
    std::string family;
    DType dtype = DType::float32;
    std::int64_t rows = 33, classes = 129, width = 0;  // width > 0: with a projection
    bool bias = false;
    LossParams params = {};
    int ignored = 1;  // 0: no row, 1: some, 2: all
    Placement placement = Placement::dense;
    double spread = 2.0;  // of the logits
    bool needs = true;
    std::string only = "";
    bool deterministic = false;
    bool threaded = false;
    bool nan = false;          // in a row that counts
    bool nan_ignored = false;  // in all that do not
    std::string detail = "";   // the name's end: what it does not tell otherwise
    std::string custom = "";   // the loss's name where it is the component's own
    bool value_targets = false;
};

bool of_classes(const LossSpec& spec) { return !spec.value_targets; }

std::string object_of(const LossSpec& spec) {
    const bool own = is_custom(spec.params.loss);
    const auto formula = formula_name(spec.params.loss, spec.custom);
    if (!of_classes(spec)) return formula + (own ? "/values" : "");
    return (own ? formula + "/" : "") + (spec.width > 0 ? "projection" : "logits");
}

std::string full_name(const LossSpec& spec) {
    constexpr const char* reductions[] = {"mean", "sum", "none"};
    std::ostringstream text;
    text << "loss/" << object_of(spec) << (spec.bias ? "+bias" : "") << "/" << spec.family << "/"
         << short_name(spec.dtype) << "/R" << spec.rows << "C" << spec.classes;
    if (spec.width > 0) text << "W" << spec.width;
    text << "/" << reductions[static_cast<int>(spec.params.reduction)];
    if (spec.params.label_smoothing > 0.0) text << "/smoothing" << spec.params.label_smoothing;
    if (spec.params.z_loss > 0.0) text << "/z" << spec.params.z_loss;
    if (spec.params.divisor > 0.0) text << "/divisor" << spec.params.divisor;
    if (spec.ignored != 1) text << (spec.ignored == 0 ? "/none_ignored" : "/all_ignored");
    if (!spec.needs) text << "/grad_none";
    if (!spec.only.empty()) text << "/grad_" << spec.only;
    if (spec.threaded) text << "/threads";
    text << spec.detail;
    return text.str();
}

LossInputs as_inputs(const Tensors& t) { return {t[0], t[1], t[2], t[3]}; }

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// [rows, classes]: numbers as predictions are, or probabilities of which many are 0 and 1; NaN in a third of
// the places but the very first, in none or in all.
at::Tensor value_targets(const LossSpec& spec, std::uint64_t seed) {
    const std::vector<std::int64_t> shape{spec.rows, spec.classes};
    const auto type = spec.dtype == DType::float64 ? at::kDouble : at::kFloat;
    at::Tensor targets = bell(shape, seed);
    if (spec.params.loss == LossKind::binary_cross_entropy) targets = targets.add(0.5).clamp(0.0, 1.0);
    at::Tensor left_out = spec.ignored == 2 ? targets.isfinite() : integers(shape, 0, 3, seed + 1).eq(0);
    if (spec.ignored != 2 && spec.rows > 0) left_out.select(0, 0).select(0, 0).fill_(false);
    if (spec.ignored > 0) targets = targets.masked_fill(left_out, nan);
    return targets.to(type);
}

Tensors make_inputs(const LossSpec& spec, const VerifyOptions& options, const Variation& variation,
                    std::uint64_t seed) {
    const at::Device device(to_device_type(options.device));
    const auto type = to_scalar_type(spec.dtype);
    const Placement placement = variation.strided ? spec.placement : Placement::dense;
    const double around = surroundings(variation);
    Tensors inputs(4);
    const bool projects = spec.width > 0;
    inputs[0] = place(
        bell({spec.rows, projects ? spec.width : spec.classes}, seed + 1) * (projects ? 1.0 : spec.spread),
        type, device, placement, around);
    if (projects)
        inputs[1] = place(bell({spec.classes, spec.width}, seed + 2) * 0.5, type, device, placement, around);
    if (spec.bias) inputs[2] = place(bell({spec.classes}, seed + 3), type, device, Placement::dense, around);
    if (!of_classes(spec)) {
        inputs[3] = value_targets(spec, seed + 4).to(device);
        if (spec.nan) inputs[0].select(0, 0).select(0, 0).fill_(nan);
        if (spec.nan_ignored) inputs[0].masked_fill_(inputs[3].isnan(), nan);
        return inputs;
    }
    at::Tensor targets = integers({spec.rows}, 0, spec.classes, seed + 4);
    if (spec.rows > 0 && spec.ignored != 2) targets[0].fill_(spec.classes - 1);
    at::Tensor dropped = spec.ignored == 2 ? targets.ge(0) : integers({spec.rows}, 0, 3, seed + 5).eq(0);
    if (spec.nan) dropped[0].fill_(false);
    if (spec.ignored > 0) targets = targets.masked_fill(dropped, spec.params.ignore_index);
    if (spec.nan_ignored) inputs[0].masked_fill_(dropped.to(device).unsqueeze(1), nan);
    if (spec.nan) inputs[0].select(0, 0).select(0, 0).fill_(nan);
    inputs[3] = targets.to(device);
    return inputs;
}

OperationCase make_case(LossSpec spec, const Facts& facts, const VerifyOptions& options) {
    spec.needs = spec.needs && has_gradient(facts);
    auto request = std::make_shared<LossRequest>();
    request->dtype = spec.dtype;
    request->device = options.device;
    request->phase = spec.needs ? Phase::train : Phase::eval;
    request->needs_grad = spec.needs;
    request->deterministic = spec.deterministic;
    request->allow_reduced = true;
    request->rows = spec.rows;
    request->classes = spec.classes;
    request->width = spec.width;
    request->projection = spec.width > 0;
    request->projection_bias = spec.bias;
    request->label_smoothing = spec.params.label_smoothing;
    request->z_loss = spec.params.z_loss;
    request->may_overwrite_logits = spec.params.may_overwrite_logits;
    request->loss = spec.params.loss;
    request->per_row = spec.params.reduction == Reduction::none;
    request->custom = spec.custom;
    request->value_targets = is_custom(spec.params.loss) && spec.value_targets;
    OperationCase one{full_name(spec), request, {}, spec.threaded ? 2 : 1};
    one.make = [spec, request, &options](const Variation& variation) {
        const std::uint64_t seed = seed_of(full_name(spec), options.seed, variation.draw);
        const LossParams params = spec.params;
        const auto loss_type = spec.dtype == DType::float64 ? at::kDouble : at::kFloat;
        Operation operation;
        operation.input_names = {"x", "weight", "bias", "targets"};
        operation.output_names = {"loss", "count"};
        operation.inputs = make_inputs(spec, options, variation, seed);
        for (const char* input : {"x", "weight", "bias"}) {
            operation.needs.push_back(spec.needs && (spec.only.empty() || spec.only == input));
        }
        operation.needs.push_back(false);
        if (params.may_overwrite_logits) operation.given_up = {true};
        const bool per_row = params.reduction == Reduction::none;
        const at::Tensor grad = per_row ? bell({spec.rows}, seed + 6) : at::scalar_tensor(1.75, at::kDouble);
        operation.grad_outputs = {grad.to(at::Device(to_device_type(options.device)), loss_type),
                                  at::Tensor()};
        operation.reference = [params](const Tensors& inputs) {
            const LossOutputs out = reference::loss(as_inputs(inputs), params);
            return Tensors{out.loss, out.count};
        };
        if (is_custom(params.loss)) {
            operation.reference_of = [request, params](const ComponentUnderTest& component) {
                return own_loss(component, *request, params);
            };
            if (spec.dtype == DType::float64) operation.gradient_roundoff = slope_roundoff;
        }
        operation.forward = [params](void* component, const Tensors& inputs, Saved* saved) {
            const LossOutputs out = static_cast<Loss*>(component)->forward(as_inputs(inputs), params, saved);
            return Tensors{out.loss, out.count};
        };
        operation.backward = [params](void* component, const Saved& saved, const Tensors& grads,
                                      const std::vector<bool>& needs) {
            const LossGrads g = static_cast<Loss*>(component)->backward(params, saved, grads[0],
                                                                        {needs[0], needs[1], needs[2]});
            return Tensors{g.x, g.weight, g.bias, at::Tensor()};
        };
        return operation;
    };
    return one;
}

// What `change` makes of `base`, in that family.
template <class Change>
void add_changed(std::vector<LossSpec>& specs, const LossSpec& base, const std::string& family,
                 const Change& change) {
    auto& spec = specs.emplace_back(base);
    spec.family = family;
    change(spec);
}

void add(std::vector<LossSpec>& specs, const LossSpec& base, Device device) {
    const auto with = [&](const std::string& family, auto change) {
        add_changed(specs, base, family, change);
    };
    for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
        for (const int ignored : {0, 1, 2}) {
            with("reduction", [&](LossSpec& s) { s.params.reduction = reduction, s.ignored = ignored; });
        }
        with("smoothing",
             [&](LossSpec& s) { s.params.reduction = reduction, s.params.label_smoothing = 0.1; });
        with("smoothing", [&](LossSpec& s) {
            s.params.reduction = reduction, s.params.label_smoothing = 0.2, s.params.z_loss = 1e-2;
        });
    }
    with("z", [](LossSpec& s) { s.params.z_loss = 1e-3; });
    with("divisor", [](LossSpec& s) { s.params.reduction = Reduction::sum, s.params.divisor = 37.0; });
    with("ignore_index3", [](LossSpec& s) { s.params.ignore_index = 3; });
    for (const std::int64_t classes : {2, 7, 128, 1000, 4097})
        with("classes", [&](LossSpec& s) { s.classes = classes; });
    // A vocabulary: narrow, since most of the time goes into its weights.
    with("classes",
         [](LossSpec& s) { s.classes = 30522, s.rows = 5, s.width = std::min<std::int64_t>(s.width, 8); });
    for (const std::int64_t rows : {0, 1, 130}) with("rows", [&](LossSpec& s) { s.rows = rows; });
    with("eval", [](LossSpec& s) { s.needs = false; });
    with("threads", [](LossSpec& s) { s.rows = 257, s.classes = 300, s.threaded = true; });
    with("deterministic", [](LossSpec& s) { s.deterministic = true; });
    with("large", [](LossSpec& s) { s.spread = 60.0; });
    // On a device LibTorch's kernels give rows of logits that are ignored and not finite a gradient of NaN:
    // to look for them would be one more pass over the logits in every call.
    const bool passes_over_ignored = base.width > 0 || device == Device::cpu;
    // Rows are whole tiles where some are NaN: LibTorch's products of bfloat16 by AMX read past the end of a
    // row, and the next row's NaN times a zero is one, too.
    const std::int64_t whole_tiles = base.width > 0 ? 64 : 0;
    for (const Reduction reduction : {Reduction::mean, Reduction::none}) {
        with("nan", [&](LossSpec& s) { s.nan = true, s.params.reduction = reduction; });
        if (passes_over_ignored)
            with("nan_ignored", [&](LossSpec& s) {
                s.nan_ignored = true, s.params.reduction = reduction, s.width = whole_tiles;
            });
    }
    if (passes_over_ignored) {
        for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
            with("nan_ignored", [&](LossSpec& s) {
                s.params.reduction = reduction, s.params.label_smoothing = 0.1, s.params.z_loss = 1e-2;
                s.nan_ignored = true, s.width = whole_tiles;
            });
        }
        with("nan_ignored", [&](LossSpec& s) { s.nan_ignored = true, s.ignored = 2, s.width = whole_tiles; });
    }
    for (const Placement placement : {Placement::permuted, Placement::sliced, Placement::stepped}) {
        with(std::string("stride/") + name(placement), [&](LossSpec& s) { s.placement = placement; });
    }
}

// Logits whose memory the gradients may take. (Where they are not given up, every case holds the inputs
// against what they were before.)
void add_given_up(std::vector<LossSpec>& specs, LossSpec spec) {
    spec.family = "given_up";
    spec.params.may_overwrite_logits = true;
    for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
        spec.params.reduction = reduction;
        for (const int ignored : {0, 1, 2}) {
            spec.ignored = ignored;
            specs.push_back(spec);
        }
    }
    spec.params.reduction = Reduction::mean;
    spec.ignored = 1;
    const auto with = [&](auto change) { add_changed(specs, spec, spec.family, change); };
    for (const std::int64_t classes : {2, 7, 1000, 4097}) with([&](LossSpec& s) { s.classes = classes; });
    for (const std::int64_t rows : {0, 1, 130}) with([&](LossSpec& s) { s.rows = rows; });
    with([](LossSpec& s) { s.params.label_smoothing = 0.2, s.params.z_loss = 1e-2; });
    with([](LossSpec& s) { s.rows = 257, s.classes = 300, s.threaded = true; });
    with([](LossSpec& s) { s.family = "given_up/deterministic", s.deterministic = true; });
    with([](LossSpec& s) { s.needs = false; });
    for (const Placement placement : {Placement::permuted, Placement::sliced, Placement::stepped})
        with([&](LossSpec& s) {
            s.family = std::string("given_up/") + name(placement), s.placement = placement;
        });
}

// What is asked of losses of values, one target each.
void add_values(std::vector<LossSpec>& specs, LossSpec base) {
    base.rows = 9;
    base.classes = 5;
    const auto with = [&](const std::string& family, auto change) {
        add_changed(specs, base, family, change);
    };
    for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
        for (const int ignored : {0, 1, 2}) {
            with("reduction", [&](LossSpec& s) { s.params.reduction = reduction, s.ignored = ignored; });
            with("given_up", [&](LossSpec& s) {
                s.params.reduction = reduction, s.ignored = ignored;
                s.params.may_overwrite_logits = true;
            });
        }
        with("nan", [&](LossSpec& s) { s.nan = true, s.params.reduction = reduction; });
        with("nan_ignored", [&](LossSpec& s) { s.nan_ignored = true, s.params.reduction = reduction; });
    }
    with("divisor", [](LossSpec& s) { s.params.reduction = Reduction::sum, s.params.divisor = 37.0; });
    for (const std::int64_t classes : {1, 2, 16, 33, 1000})
        with("classes", [&](LossSpec& s) { s.classes = classes; });
    for (const std::int64_t rows : {0, 1, 130}) with("rows", [&](LossSpec& s) { s.rows = rows; });
    with("eval", [](LossSpec& s) { s.needs = false; });
    with("threads", [](LossSpec& s) { s.rows = 257, s.classes = 300, s.threaded = true; });
    with("deterministic", [](LossSpec& s) { s.deterministic = true; });
    with("large", [](LossSpec& s) { s.spread = 200.0; });
    with("zero", [](LossSpec& s) { s.spread = 0.0; });
    for (const Placement placement : {Placement::permuted, Placement::sliced, Placement::stepped})
        with(std::string("stride/") + name(placement), [&](LossSpec& s) { s.placement = placement; });
}

// Of losses that are the component's own.
void add_own(std::vector<LossSpec>& specs, const LossSpec& base, const std::string& custom, Device device) {
    std::vector<LossSpec> own;
    LossSpec spec = base;
    spec.params.loss = LossKind::custom;
    spec.custom = custom;
    add(own, spec, device);
    spec.width = 48;
    for (const bool bias : {false, true}) {
        spec.bias = bias;
        add(own, spec, device);
    }
    spec.width = 0;
    spec.bias = false;
    add_given_up(own, spec);
    spec.value_targets = true;
    add_values(own, spec);
    for (LossSpec& one : own) {
        const bool of_cross_entropy = one.params.label_smoothing > 0.0 || one.params.z_loss > 0.0;
        if (of_cross_entropy) continue;
        if (one.nan) one.needs = false;  // what its slope is there, is its own affair
        specs.push_back(one);
    }
}

constexpr LossKind losses_of_values[] = {LossKind::mean_squared_error, LossKind::binary_cross_entropy};

void add_in_turn(std::vector<OperationCase>& cases, DType dtype, std::int64_t width, const Facts& facts,
                 const VerifyOptions& options) {
    LossSpec few;
    few.dtype = dtype;
    few.width = width;
    few.rows = 9;
    LossSpec many = few;
    many.rows = 130;
    add_rows_in_turn<LossRequest>(cases, few, many,
                                  [&](const LossSpec& spec) { return make_case(spec, facts, options); });
}

}  // namespace

std::vector<OperationCase> listed_cases(KindTraits<Kind::loss>, const Facts& facts,
                                        const VerifyOptions& options) {
    std::vector<LossSpec> specs;
    for (const DType dtype : options.dtypes) {
        LossSpec spec;
        spec.dtype = dtype;
        add(specs, spec, options.device);
        add_given_up(specs, spec);
        for (const LossKind loss : losses_of_values) {
            LossSpec values = spec;
            values.params.loss = loss;
            values.value_targets = true;
            add_values(specs, values);
        }
        for (const std::string& custom : facts.custom) add_own(specs, spec, custom, options.device);
        for (const bool bias : {false, true}) {
            spec.width = 48;
            spec.bias = bias;
            add(specs, spec, options.device);
        }
        for (const std::int64_t width : {1, 7, 129}) {
            spec.family = "width";
            spec.width = width;
            specs.push_back(spec);
        }
        for (const char* only : {"x", "weight", "bias"}) {
            spec.family = "needs";
            spec.width = 48;
            spec.only = only;
            specs.push_back(spec);
        }
    }
    std::vector<OperationCase> cases;
    for (const LossSpec& spec : specs) cases.push_back(make_case(spec, facts, options));
    for (const DType dtype : options.dtypes) {
        for (const std::int64_t width : {0, 48}) add_in_turn(cases, dtype, width, facts, options);
    }
    return cases;
}

OperationCase drawn_case(KindTraits<Kind::loss>, Draw& draw, const Facts& facts,
                         const VerifyOptions& options) {
    LossSpec spec;
    spec.family = draw.family();
    spec.dtype = draw.one_of(options.dtypes);
    if (draw.special(0.25)) spec.params.loss = draw.one_of({losses_of_values[0], losses_of_values[1]});
    spec.value_targets = spec.params.loss != LossKind::cross_entropy;
    const bool own = !facts.custom.empty() && draw.chance(0.5);
    if (own) {
        const auto number = draw.between(0, static_cast<std::int64_t>(facts.custom.size()) - 1);
        spec.params.loss = LossKind::custom;
        spec.custom = facts.custom[static_cast<std::size_t>(number)];
        spec.value_targets = draw.chance(0.5);
    }
    const bool of_values = !of_classes(spec);
    if (!of_values && draw.special(0.5)) {
        spec.width = draw.size(1, 200);
        spec.bias = draw.chance(0.5);
    }
    spec.classes = draw.size(of_values ? 1 : 2, own ? 150 : 8000);
    spec.rows = draw.size(1, std::clamp<std::int64_t>(60000 / (spec.classes + spec.width), 1, 300));
    LossParams& params = spec.params;
    params.reduction = draw.one_of({Reduction::mean, Reduction::sum, Reduction::none});
    if (params.reduction == Reduction::sum && draw.special(0.4))
        params.divisor = static_cast<double>(draw.size(1, 500));
    if (!of_values && draw.special(0.3)) params.ignore_index = draw.between(0, spec.classes - 1);
    if (!of_values && !own && draw.special(0.3))
        params.label_smoothing = static_cast<double>(draw.between(1, 9)) / 20.0;
    if (!of_values && !own && draw.special(0.3))
        params.z_loss = static_cast<double>(draw.size(1, 100)) / 1000.0;
    params.may_overwrite_logits = spec.width == 0 && draw.special(0.3);
    spec.ignored = draw.special(0.5) ? (draw.special(0.2) ? 2 : 1) : 0;
    spec.placement = draw.special(0.3)
                         ? draw.one_of({Placement::permuted, Placement::sliced, Placement::stepped})
                         : Placement::dense;
    spec.spread = static_cast<double>(draw.size(1, 200)) / 10.0;
    spec.needs = !draw.special(0.2);
    if (spec.needs && spec.width > 0 && draw.special(0.3)) spec.only = draw.chance(0.5) ? "x" : "weight";
    spec.deterministic = draw.special(0.15);
    spec.threaded = draw.special(0.2);
    std::ostringstream text;
    text << "/" << name(spec.placement) << "/spread" << spec.spread << "/ignore" << params.ignore_index
         << (params.may_overwrite_logits ? "/given_up" : "");
    spec.detail = text.str();
    return make_case(spec, facts, options);
}

OperationCase requested_case(const LossRequest& asked, RequestDraw& draw, const Facts& facts,
                             const VerifyOptions& options) {
    constexpr std::int64_t most_values = 1000000, most_products = 100000000;
    LossSpec spec;
    spec.family = draw.family();
    spec.dtype = asked.dtype;
    spec.params.loss = asked.loss;
    spec.custom = asked.custom;
    spec.value_targets = has_value_targets(asked);
    spec.classes = draw.within(asked.classes, most_products);
    if (asked.projection) spec.width = draw.within(asked.width, most_products);
    const std::int64_t of_a_row = spec.classes + spec.width,
                       products = spec.classes * std::max<std::int64_t>(spec.width, 1);
    spec.rows = draw.within(asked.rows, std::min(most_values / of_a_row, most_products / products) + 1);
    spec.bias = asked.projection_bias;
    spec.params.reduction = asked.per_row      ? Reduction::none
                            : draw.chance(0.5) ? Reduction::mean
                                               : Reduction::sum;
    if (spec.params.reduction == Reduction::sum && draw.chance(0.5))
        spec.params.divisor = static_cast<double>(draw.size(1, 500));
    spec.params.label_smoothing = asked.label_smoothing;
    spec.params.z_loss = asked.z_loss;
    spec.params.may_overwrite_logits = asked.may_overwrite_logits;
    spec.ignored = draw.chance(0.3) ? 0 : 1;
    spec.needs = asked.needs_grad;
    spec.deterministic = asked.deterministic;
    spec.threaded = draw.chance(0.5);
    return make_case(spec, facts, options);
}

}  // namespace switchyard::conformance
