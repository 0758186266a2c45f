#include <limits>
#include <sstream>
#include <utility>

#include <switchyard/conformance/cases.h>
#include <switchyard/conformance/optimizer_run.h>
#include <switchyard/conformance/values.h>
#include <switchyard/interfaces/torch_types.h>

namespace switchyard::conformance {
namespace {

using Aim = OptimizerSpec::Aim;

// "optimizer/adamw/clip/bf16+master/g_f32"
std::string full_name(const OptimizerSpec& spec) {
    std::string text = "optimizer/" + formula_name(spec.algorithm, spec.custom);
    if (spec.nesterov)
        text += "+nesterov";
    else if (spec.momentum != 0.0)
        text += "+momentum";
    text += "/" + spec.family + "/" + short_name(spec.dtype);
    if (spec.master) text += "+master";
    return text + "/g_" + short_name(spec.gradient_dtype) + spec.detail;
}

std::shared_ptr<OptimizerRequest> request_of(const OptimizerSpec& spec, const VerifyOptions& options) {
    auto request = std::make_shared<OptimizerRequest>();
    request->dtype = spec.dtype;
    request->device = options.device;
    request->deterministic = spec.deterministic;
    request->algorithm = spec.algorithm;
    request->custom = spec.custom;
    request->gradient_dtype = spec.gradient_dtype;
    request->master_weights = spec.master;
    request->clip = spec.max_grad_norm > 0.0;
    request->unscale = spec.unscale;
    request->parameters = value_count(spec);
    request->tensors = parameter_count(spec);
    return request;
}

FreeCase make_case(const OptimizerSpec& spec, const VerifyOptions& options) {
    const std::shared_ptr<const OptimizerRequest> request = request_of(spec, options);
    const std::uint64_t seed = seed_of(full_name(spec), options.seed);
    const at::Device device(to_device_type(options.device));
    return {full_name(spec), request,
            [=](Findings& findings) { run_optimizer(spec, request, seed, device, findings); }};
}

class Specs {
public:
    explicit Specs(OptimizerSpec base) : base_(std::move(base)) {}

    template <class Change>
    void with(const std::string& family, Change change) {
        OptimizerSpec spec = base_;
        spec.family = family;
        change(spec);
        all.push_back(spec);
    }

    // In every dtype.
    void add_steps() {
        with("plain", [](OptimizerSpec&) {});
        with("clip", [](OptimizerSpec& s) { s.max_grad_norm = 8.0; });
        with("clip_loose", [](OptimizerSpec& s) { s.max_grad_norm = 1000.0; });
        with("unscale", [](OptimizerSpec& s) { s.unscale = true, s.grad_scale = 512.0; });
        with("unscale_clip",
             [](OptimizerSpec& s) { s.unscale = true, s.grad_scale = 512.0, s.max_grad_norm = 8.0; });
        with("unscale_by_1", [](OptimizerSpec& s) { s.unscale = true; });
        with("zero_weights", [](OptimizerSpec& s) { s.start = 0.0; });
        with("steps20", [](OptimizerSpec& s) { s.steps = 20, s.long_size = 300; });
        with("state", [](OptimizerSpec& s) { s.aim = Aim::state, s.deterministic = true; });
        with("parts", [](OptimizerSpec& s) { s.aim = Aim::parts; });
        with("parts/unscale",
             [](OptimizerSpec& s) { s.aim = Aim::parts, s.unscale = true, s.grad_scale = 512.0; });
    }

    // A non-finite value of each sort, in the first, a middle and the last parameter, with and without
    // unscaling.
    void add_found_inf() {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        struct Bad {
            const char* name;
            double value;
            const char* parameter;
        };
        for (const Bad& bad :
             {Bad{"inf", infinity, "decay.matrix"}, Bad{"minus_inf", -infinity, "no_decay.one"},
              Bad{"nan", std::numeric_limits<double>::quiet_NaN(), "no_decay.last"}}) {
            const auto family = [&](const char* how) {
                return std::string("found_inf/") + bad.name + "/" + how;
            };
            const auto spoil = [&](OptimizerSpec& s) {
                s.bad_value = bad.value, s.bad_parameter = bad.parameter;
            };
            with(family("unscale"),
                 [&](OptimizerSpec& s) { spoil(s), s.unscale = true, s.grad_scale = 512.0; });
            with(family("clip"), [&](OptimizerSpec& s) { spoil(s), s.max_grad_norm = 8.0; });
            with(family("unscale_clip"), [&](OptimizerSpec& s) {
                spoil(s), s.unscale = true, s.grad_scale = 512.0, s.max_grad_norm = 8.0;
            });
        }
    }

    // What does not depend on the dtype.
    void add_others() {
        with("eps0.1", [](OptimizerSpec& s) { s.eps = 0.1; });
        with("zero_gradients", [](OptimizerSpec& s) { s.zero_steps = 3; });
        with("zero_gradients/clip", [](OptimizerSpec& s) { s.zero_steps = 3, s.max_grad_norm = 8.0; });
        with("zero_weights/zero_gradients", [](OptimizerSpec& s) { s.start = 0.0, s.zero_steps = 3; });
        with("steps70", [](OptimizerSpec& s) { s.steps = 70, s.long_size = 300; });
        with("small_rate", [](OptimizerSpec& s) { s.lr = 1e-6, s.steps = 20, s.long_size = 300; });
        with("groups", [](OptimizerSpec& s) { s.own_hyper = true, s.steps = 8, s.long_size = 300; });
        // A step count at which float32 or small integers would show, with moments that still remember the
        // first.
        for (const std::int64_t count : {2000, 70000}) {
            with("step" + std::to_string(count), [&](OptimizerSpec& s) {
                s.counted_steps = count, s.beta2 = 1.0 - 0.2 / static_cast<double>(count), s.lr = 1e-3;
            });
        }
        with("scalars_as_tensors", [](OptimizerSpec& s) {
            s.unscale = true, s.as_tensors = true, s.grad_scale = 64.0, s.max_grad_norm = 8.0;
        });
        with("stride/value_permuted", [](OptimizerSpec& s) { s.values = Placement::permuted; });
        for (const Placement placement :
             {Placement::permuted, Placement::sliced, Placement::stepped, Placement::expanded}) {
            with(std::string("stride/gradient_") + name(placement),
                 [&](OptimizerSpec& s) { s.gradients = placement; });
            with(std::string("stride/gradient_") + name(placement) + "_unscale_clip", [&](OptimizerSpec& s) {
                s.gradients = placement, s.unscale = true, s.grad_scale = 64.0, s.max_grad_norm = 8.0;
            });
        }
        with("large_gradients",
             [](OptimizerSpec& s) { s.aim = Aim::large_gradients, s.unscale = true, s.max_grad_norm = 8.0; });
        with("threads2", [](OptimizerSpec& s) { s.threads = 2, s.max_grad_norm = 8.0; });
        with("parts/clip", [](OptimizerSpec& s) { s.aim = Aim::parts, s.max_grad_norm = 8.0; });
        with("parts/groups", [](OptimizerSpec& s) { s.aim = Aim::parts, s.own_hyper = true; });
        with("bad_state", [](OptimizerSpec& s) { s.aim = Aim::bad_state; });
        with("bad_parameters", [](OptimizerSpec& s) { s.aim = Aim::bad_parameters; });
    }

    // To step `steps`, fast, as usual and slowly.
    void add_long(std::int64_t steps) {
        for (const auto& [family, lr] :
             {std::pair{"long/lr2e-2", 2e-2}, {"long/lr1e-3", 1e-3}, {"long/lr1e-5", 1e-5}})
            with(family, [steps, rate = lr](OptimizerSpec& s) { s.steps = steps, s.lr = rate; });
    }

    std::vector<OptimizerSpec> all;

private:
    OptimizerSpec base_;
};

OptimizerSpec custom_algorithm(const std::string& name) {
    OptimizerSpec spec;
    spec.algorithm = OptimizerKind::custom;
    spec.custom = name;
    return spec;
}

// Each algorithm that all know, with its switches.
std::vector<OptimizerSpec> algorithms() {
    std::vector<OptimizerSpec> all;
    for (const OptimizerKind algorithm : {OptimizerKind::adamw, OptimizerKind::adam, OptimizerKind::sgd,
                                          OptimizerKind::lion, OptimizerKind::lamb, OptimizerKind::muon}) {
        OptimizerSpec spec;
        spec.algorithm = algorithm;
        if (algorithm != OptimizerKind::muon) all.push_back(spec);
        if (algorithm != OptimizerKind::sgd && algorithm != OptimizerKind::muon) continue;
        spec.momentum = 0.9;
        all.push_back(spec);
        spec.nesterov = true;
        all.push_back(spec);
    }
    return all;
}

bool is_low(DType dtype) { return dtype == DType::bfloat16 || dtype == DType::float16; }

void add(std::vector<OptimizerSpec>& specs, const OptimizerSpec& algorithm, DType dtype,
         std::int64_t long_run) {
    const auto add_for = [&](DType gradient, bool master, bool everything) {
        OptimizerSpec base = algorithm;
        base.dtype = dtype;
        base.gradient_dtype = gradient;
        base.master = master;
        Specs made(base);
        made.add_steps();
        made.add_found_inf();
        if (everything) made.add_others();
        if (long_run > 0) made.add_long(long_run);
        specs.insert(specs.end(), made.all.begin(), made.all.end());
    };
    add_for(dtype, false, dtype == DType::float32);
    if (!is_low(dtype)) return;
    add_for(dtype, true, false);
    add_for(DType::float32, true, false);
}

// Of an algorithm without an oracle. In low precision what two runs make of the same is too far apart to be
// compared; there it is held to what it makes of master weights.
void add_properties(std::vector<OptimizerSpec>& specs, const OptimizerSpec& algorithm, DType dtype) {
    using Property = OptimizerSpec::Property;
    OptimizerSpec base = algorithm;
    base.aim = Aim::property;
    base.dtype = dtype;
    base.gradient_dtype = is_low(dtype) ? DType::float32 : dtype;
    base.master = is_low(dtype);
    base.long_size = 300;
    Specs made(base);
    const auto with = [&](const char* family, Property property, auto change) {
        made.with(family, [&](OptimizerSpec& s) { s.property = property, change(s); });
    };
    const auto as_it_is = [](OptimizerSpec&) {};
    with("converges/quadratic", Property::quadratic, as_it_is);
    with("converges/regression", Property::regression, as_it_is);
    with("no_rate", Property::no_rate, as_it_is);
    if (is_low(dtype)) {
        with("as_masters", Property::master, as_it_is);
    } else {
        with("unscaled", Property::unscaling, [](OptimizerSpec& s) { s.unscale = true; });
        with("unscaled/by_tensor", Property::unscaling,
             [](OptimizerSpec& s) { s.unscale = s.as_tensors = true; });
        with("clipped", Property::clipping, [](OptimizerSpec& s) { s.max_grad_norm = 8.0; });
        with("rate_tensor", Property::rate_tensor, as_it_is);
        with("decay", Property::decay, as_it_is);
        with("own_groups", Property::groups, [](OptimizerSpec& s) { s.own_hyper = true; });
        with("split_groups", Property::splitting, as_it_is);
        with("order", Property::order, as_it_is);
        for (const Placement placement : {Placement::permuted, Placement::sliced, Placement::stepped})
            with((std::string("strides/") + name(placement)).c_str(), Property::strides,
                 [&](OptimizerSpec& s) { s.gradients = placement; });
    }
    specs.insert(specs.end(), made.all.begin(), made.all.end());
    if (dtype != DType::float32) return;
    base.aim = Aim::steps;
    Specs followed(base);
    followed.with("steps2000", [](OptimizerSpec& s) { s.steps = 2000, s.long_size = 64, s.lr = 1e-3; });
    specs.insert(specs.end(), followed.all.begin(), followed.all.end());
}

}  // namespace

std::vector<FreeCase> listed_cases(KindTraits<Kind::optimizer>, const Facts& facts,
                                   const VerifyOptions& options) {
    std::vector<OptimizerSpec> specs;
    for (const DType dtype : options.dtypes) {
        for (const OptimizerSpec& algorithm : algorithms()) add(specs, algorithm, dtype, options.long_run);
        for (const std::string& own : facts.custom) {
            add(specs, custom_algorithm(own), dtype, options.long_run);
            add_properties(specs, custom_algorithm(own), dtype);
        }
    }
    std::vector<FreeCase> cases;
    for (const OptimizerSpec& spec : specs) cases.push_back(make_case(spec, options));
    return cases;
}

FreeCase drawn_case(KindTraits<Kind::optimizer>, Draw& draw, const Facts& facts,
                    const VerifyOptions& options) {
    auto all = algorithms();
    for (const std::string& own : facts.custom) all.push_back(custom_algorithm(own));
    OptimizerSpec spec = draw.one_of(all);
    spec.family = draw.family();
    spec.dtype = spec.gradient_dtype = draw.one_of(options.dtypes);
    if (is_low(spec.dtype) && draw.special(0.7)) {
        spec.master = true;
        if (draw.chance(0.5)) spec.gradient_dtype = DType::float32;
    }
    spec.steps = draw.size(3, 40);
    spec.lr = 1e-6 * static_cast<double>(draw.size(1, 100000));
    spec.beta2 = draw.one_of({0.95, 0.99, 0.999});
    spec.eps = draw.one_of({1e-8, 1e-6, 1e-3});
    spec.start = draw.special(0.15) ? 0.0 : static_cast<double>(draw.size(1, 1000)) / 1000.0;
    spec.gradient = static_cast<double>(draw.size(1, 10000)) / 10000.0;
    if (draw.special(0.2)) spec.zero_steps = draw.between(1, 4);
    spec.own_hyper = draw.special(0.4);
    if (draw.special(0.4)) spec.max_grad_norm = static_cast<double>(draw.size(1, 100));
    spec.unscale = draw.special(0.4);
    if (spec.unscale) spec.grad_scale = static_cast<double>(std::int64_t{1} << draw.between(0, 12));
    spec.as_tensors = spec.unscale && draw.special(0.3);
    spec.gradients = draw.special(0.3)
                         ? draw.one_of({Placement::permuted, Placement::sliced, Placement::stepped})
                         : Placement::dense;
    spec.deterministic = draw.special(0.15);
    spec.long_size = draw.size(1, 8000);
    std::ostringstream text;
    text << "/steps" << spec.steps << "/lr" << spec.lr << "/beta" << spec.beta2 << "/eps" << spec.eps
         << "/start" << spec.start << "/gradient" << spec.gradient << "*" << spec.grad_scale << "/clip"
         << spec.max_grad_norm << "/" << name(spec.gradients) << (spec.own_hyper ? "/groups" : "")
         << (spec.as_tensors ? "/tensors" : "") << "/zeros" << spec.zero_steps << "/long" << spec.long_size;
    spec.detail = text.str();
    return make_case(spec, options);
}

}  // namespace switchyard::conformance
