// Cases of precision policies: what they say, scale and keep, and the operands that those which compute
// linear layers in a float8 type make of them.
#include <algorithm>

#include <switchyard/conformance/cases.h>
#include <switchyard/conformance/precision_policy_checks.h>
#include <switchyard/conformance/precision_quantize_checks.h>
#include <switchyard/interfaces/torch_types.h>

namespace switchyard::conformance {
namespace {

using Sizes = std::vector<std::int64_t>;

std::vector<QuantizeSpec> quantize_specs(DType dtype) {
    std::vector<QuantizeSpec> all;
    const auto with = [&](const std::string& family, auto change) {
        QuantizeSpec spec;
        spec.family = family;
        spec.dtype = dtype;
        change(spec);
        all.push_back(spec);
    };
    with("plain", [](QuantizeSpec&) {});
    with("stored_x", [](QuantizeSpec& s) { s.stored_x = true; });
    with("loss_scaling", [](QuantizeSpec& s) { s.loss_scaling = true; });
    for (const Sizes& rows : {Sizes{}, Sizes{0}, Sizes{1}, Sizes{7}, Sizes{130}, Sizes{2, 3, 4}})
        with("shape", [&](QuantizeSpec& s) { s.rows = rows; });
    for (const std::int64_t in : {1, 7, 129, 1000}) with("in", [&](QuantizeSpec& s) { s.in = in; });
    for (const std::int64_t out : {1, 7, 129}) with("out", [&](QuantizeSpec& s) { s.out = out; });
    // Several blocks of values in every direction.
    with("blocks", [](QuantizeSpec& s) { s.rows = {130}, s.in = 300, s.out = 257; });
    with("zeros", [](QuantizeSpec& s) { s.magnitude = 0.0; });
    with("small", [](QuantizeSpec& s) { s.magnitude = 1e-4; });
    with("large", [](QuantizeSpec& s) { s.magnitude = 1e4; });
    for (const Placement placement :
         {Placement::permuted, Placement::sliced, Placement::stepped, Placement::expanded}) {
        const std::string how = name(placement);
        with("stride/x_" + how, [&](QuantizeSpec& s) { s.x = placement; });
        with("stride/gradient_" + how, [&](QuantizeSpec& s) { s.gradient = placement; });
        if (placement == Placement::expanded) continue;
        with("stride/weight_" + how, [&](QuantizeSpec& s) { s.weight = placement; });
    }
    with("eval", [](QuantizeSpec& s) { s.needs = false; });
    with("infinity", [](QuantizeSpec& s) { s.infinity = true; });
    with("nan", [](QuantizeSpec& s) { s.nan = true; });
    for (const char* only : {"x", "weight"}) with("needs", [&](QuantizeSpec& s) { s.only = only; });
    return all;
}

std::shared_ptr<PrecisionRequest> request_of(DType dtype, const VerifyOptions& options) {
    auto request = std::make_shared<PrecisionRequest>();
    request->dtype = dtype;
    request->device = options.device;
    request->needs_grad = true;
    request->allow_reduced = true;
    return request;
}

FreeCase make_case(const QuantizeSpec& spec, const VerifyOptions& options) {
    auto request = request_of(spec.dtype, options);
    request->phase = spec.needs ? Phase::train : Phase::eval;
    request->needs_grad = spec.needs;
    request->loss_scaling = spec.loss_scaling;
    return {name_of(spec), request, [spec, request, &options](Findings& findings) {
                run_quantize(spec, request, options, findings);
            }};
}

void add_policy_cases(std::vector<FreeCase>& cases, DType dtype, const VerifyOptions& options) {
    struct Check {
        const char* name;
        void (*run)(const PolicyCase&, Findings&);
    };
    const Check checks[] = {{"declared", check_declared},
                            {"loss_scale", check_loss_scale},
                            {"steps", check_steps},
                            {"recompute", check_recompute},
                            {"state", check_policy_state}};
    for (const bool loss_scaling : {false, true}) {
        for (const Check& check : checks) {
            auto request = request_of(dtype, options);
            request->deterministic = true;
            request->loss_scaling = loss_scaling;
            const std::string name = std::string("precision/policy/") + check.name +
                                     (loss_scaling ? "+loss_scaling/" : "/") + short_name(dtype);
            const PolicyCase one{request, seed_of(name, options.seed),
                                 at::Device(to_device_type(options.device))};
            cases.push_back(
                {name, request, [one, run = check.run](Findings& findings) { run(one, findings); }});
        }
    }
}

}  // namespace

std::vector<FreeCase> listed_cases(KindTraits<Kind::precision>, const Facts&, const VerifyOptions& options) {
    std::vector<FreeCase> cases;
    for (const DType dtype : options.dtypes) {
        for (const QuantizeSpec& spec : quantize_specs(dtype)) cases.push_back(make_case(spec, options));
        add_policy_cases(cases, dtype, options);
    }
    return cases;
}

FreeCase drawn_case(KindTraits<Kind::precision>, Draw& draw, const Facts&, const VerifyOptions& options) {
    QuantizeSpec spec;
    spec.family = draw.family();
    spec.dtype = draw.one_of(options.dtypes);
    spec.in = draw.size(1, 1500);
    spec.out = draw.size(1, 1500);
    const std::int64_t rows = draw.size(1, std::clamp<std::int64_t>(2000000 / (spec.in * spec.out), 1, 300));
    spec.rows = draw.special(0.4) ? Sizes{draw.between(1, 3), rows} : Sizes{rows};
    const auto placement = [&] {
        return draw.special(0.25) ? draw.one_of({Placement::permuted, Placement::sliced, Placement::stepped})
                                  : Placement::dense;
    };
    spec.x = placement();
    spec.weight = placement();
    spec.gradient = placement();
    spec.stored_x = draw.special(0.2);
    spec.loss_scaling = draw.special(0.2);
    spec.needs = !draw.special(0.2);
    if (spec.needs && draw.special(0.2)) spec.only = draw.chance(0.5) ? "x" : "weight";
    return make_case(spec, options);
}

}  // namespace switchyard::conformance
