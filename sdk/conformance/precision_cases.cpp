// Cases of precision policies: the linear layer in their way, and what they say and keep beside it.
#include <algorithm>

#include <switchyard/conformance/cases.h>
#include <switchyard/conformance/precision_linear.h>
#include <switchyard/conformance/precision_policy_checks.h>
#include <switchyard/interfaces/torch_types.h>

namespace switchyard::conformance {
namespace {

using Sizes = std::vector<std::int64_t>;

class Specs {
public:
    explicit Specs(LinearSpec base) : base_(std::move(base)) {}

    void add_all() {
        with("plain", [](LinearSpec&) {});
        with("stored_x", [](LinearSpec& s) { s.stored_x = true; });
        with("loss_scaling", [](LinearSpec& s) { s.loss_scaling = true; });
        for (const Sizes& rows : {Sizes{}, Sizes{0}, Sizes{1}, Sizes{7}, Sizes{130}, Sizes{2, 3, 4}})
            with("shape", [&](LinearSpec& s) { s.rows = rows; });
        for (const std::int64_t in : {1, 7, 129, 1000}) with("in", [&](LinearSpec& s) { s.in = in; });
        for (const std::int64_t out : {1, 7, 129}) with("out", [&](LinearSpec& s) { s.out = out; });
        // Past the sizes at which products are cut up and summed in pieces.
        with("long", [](LinearSpec& s) { s.rows = {1090}, s.in = 1100, s.out = 66, s.threads = 2; });
        with("long", [](LinearSpec& s) { s.rows = {70}, s.in = 66, s.out = 1100; });
        for (const Placement placement :
             {Placement::permuted, Placement::sliced, Placement::stepped, Placement::expanded}) {
            const std::string how = name(placement);
            with("stride/x_" + how, [&](LinearSpec& s) { s.x = placement; });
            with("stride/gradient_" + how, [&](LinearSpec& s) { s.gradient = placement; });
            if (placement == Placement::expanded) continue;
            with("stride/weight_" + how, [&](LinearSpec& s) { s.weight = placement; });
        }
        with("eval", [](LinearSpec& s) { s.needs = false; });
        with("deterministic", [](LinearSpec& s) { s.deterministic = true; });
        with("threads", [](LinearSpec& s) { s.rows = {130}, s.in = 300, s.out = 257, s.threads = 2; });
        with("infinity", [](LinearSpec& s) { s.infinity = true; });
        with("in_turn", [](LinearSpec& s) { s.also_rows = {130}; });
        with("in_turn", [](LinearSpec& s) { s.rows = {130}, s.also_rows = {2, 5}; });
        for (const char* only : {"x", "weight", "bias"}) {
            if (base_.bias || std::string(only) != "bias")
                with("needs", [&](LinearSpec& s) { s.only = only; });
        }
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

    LinearSpec base_;
};

std::shared_ptr<PrecisionRequest> request_of(DType dtype, const VerifyOptions& options) {
    auto request = std::make_shared<PrecisionRequest>();
    request->dtype = dtype;
    request->device = options.device;
    request->needs_grad = true;
    request->allow_reduced = true;
    return request;
}

FreeCase make_case(const LinearSpec& spec, const VerifyOptions& options) {
    auto request = request_of(spec.dtype, options);
    request->phase = spec.needs ? Phase::train : Phase::eval;
    request->needs_grad = spec.needs;
    request->deterministic = spec.deterministic;
    request->loss_scaling = spec.loss_scaling;
    return {name_of(spec), request,
            [spec, request, &options](Findings& findings) { run_linear(spec, request, options, findings); }};
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

std::vector<FreeCase> listed_cases(KindTraits<Kind::precision>, const Facts& facts,
                                   const VerifyOptions& options) {
    std::vector<FreeCase> cases;
    for (const DType dtype : options.dtypes) {
        for (const bool bias : {false, true}) {
            LinearSpec base;
            base.dtype = dtype;
            base.bias = bias;
            Specs specs(base);
            specs.add_all();
            for (LinearSpec& spec : specs.all) {
                const bool forward_only = !has_gradient(facts);
                if (forward_only && !spec.only.empty()) continue;
                spec.needs = spec.needs && !forward_only;
                cases.push_back(make_case(spec, options));
            }
        }
        add_policy_cases(cases, dtype, options);
    }
    return cases;
}

FreeCase drawn_case(KindTraits<Kind::precision>, Draw& draw, const Facts& facts,
                    const VerifyOptions& options) {
    LinearSpec spec;
    spec.family = draw.family();
    spec.dtype = draw.one_of(options.dtypes);
    spec.bias = draw.chance(0.5);
    spec.in = draw.size(1, 1500);
    spec.out = draw.size(1, 1500);
    const std::int64_t rows = draw.size(1, std::clamp<std::int64_t>(2000000 / (spec.in * spec.out), 1, 300));
    spec.rows = draw.special(0.4) ? std::vector<std::int64_t>{draw.between(1, 3), rows}
                                  : std::vector<std::int64_t>{rows};
    const auto placement = [&] {
        return draw.special(0.25) ? draw.one_of({Placement::permuted, Placement::sliced, Placement::stepped})
                                  : Placement::dense;
    };
    spec.x = placement();
    spec.weight = placement();
    spec.gradient = placement();
    spec.stored_x = draw.special(0.2);
    spec.loss_scaling = draw.special(0.2);
    spec.needs = has_gradient(facts) && !draw.special(0.2);
    spec.deterministic = draw.special(0.15);
    if (draw.special(0.2)) spec.threads = 2;
    if (spec.needs && draw.special(0.2)) spec.only = draw.chance(0.5) ? "x" : "weight";
    return make_case(spec, options);
}

}  // namespace switchyard::conformance
