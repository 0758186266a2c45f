#include <switchyard/conformance/precision_linear.h>

#include <limits>
#include <sstream>

#include <ATen/TensorOperators.h>

#include <switchyard/conformance/cases.h>
#include <switchyard/conformance/operation.h>
#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/linear.h>

namespace switchyard::conformance {
namespace {

const LinearSite site{"encoder.1.attention.q", 1, 4};

// A float64 x is the oracle's, unless the policy computes in float64 itself: then that is the case's, and
// float32 shows the errors.
Tensors reference_of(const Tensors& inputs, at::ScalarType computed) {
    const auto own = computed == at::kDouble ? at::kFloat : computed;
    const auto type = inputs[0].scalar_type() == at::kDouble ? at::kDouble : own;
    return {reference::linear(inputs[0].to(type), inputs[1], inputs[2])};
}

Operation make_operation(const LinearSpec& spec, const LinearDtypes& dtypes, std::uint64_t seed,
                         at::Device device, const Variation& variation) {
    const double around = surroundings(variation);
    const auto placed = [&](const at::Tensor& values, at::ScalarType type, Placement placement) {
        return place(values, type, device, variation.strided ? placement : Placement::dense, around);
    };
    std::vector<std::int64_t> x_sizes = spec.rows, y_sizes = spec.rows;
    x_sizes.push_back(spec.in);
    y_sizes.push_back(spec.out);
    const at::Tensor x = bell(x_sizes, seed + 1);
    if (spec.infinity) x.view({-1})[0].fill_(std::numeric_limits<double>::infinity());
    // An x wider than the policy computes in can't be told from the oracle's.
    const bool stored_x = spec.stored_x && dtypes.stored != at::kDouble;
    Operation operation;
    operation.input_names = {"x", "weight", "bias"};
    operation.output_names = {"y"};
    operation.inputs = {placed(x, stored_x ? dtypes.stored : dtypes.computed, spec.x),
                        placed(bell({spec.out, spec.in}, seed + 2) * 0.3, dtypes.stored, spec.weight),
                        at::Tensor()};
    if (spec.bias) operation.inputs[2] = placed(bell({spec.out}, seed + 3), dtypes.stored, Placement::dense);
    for (const char* input : operation.input_names)
        operation.needs.push_back(spec.needs && (spec.only.empty() || spec.only == input));
    operation.grad_outputs = {placed(bell(y_sizes, seed + 4), dtypes.computed, spec.gradient)};
    operation.gradient_roundoff = unit_roundoff(dtypes.computed);
    operation.reference = [computed = dtypes.computed](const Tensors& inputs) {
        return reference_of(inputs, computed);
    };
    operation.forward = [](void* component, const Tensors& t, Saved* saved) {
        return Tensors{static_cast<Precision*>(component)->linear({t[0], t[1], t[2]}, site, saved)};
    };
    operation.backward = [](void* component, const Saved& saved, const Tensors& grads,
                            const std::vector<bool>& needs) {
        const LinearGrads made = static_cast<Precision*>(component)->linear_backward(
            site, saved, grads[0], {needs[0], needs[1], needs[2]});
        return Tensors{made.x, made.weight, made.bias};
    };
    return operation;
}

OperationCase linear_case(const LinearSpec& spec, const std::shared_ptr<const PrecisionRequest>& request,
                          const VerifyOptions& options, const LinearDtypes& dtypes) {
    const std::uint64_t seed = seed_of(name_of(spec), options.seed);
    const auto make_on = [=](at::Device device) {
        return
            [=](const Variation& variation) { return make_operation(spec, dtypes, seed, device, variation); };
    };
    OperationCase one{name_of(spec), request, make_on(to_device_type(options.device)), spec.threads};
    if (options.device != Device::cpu) one.make_on_cpu = make_on(at::kCPU);
    one.computes = from_scalar_type(dtypes.computed);
    return one;
}

}  // namespace

std::string name_of(const LinearSpec& spec) {
    std::ostringstream text;
    text << "precision/linear" << (spec.bias ? "+bias/" : "/") << spec.family << "/" << short_name(spec.dtype)
         << "/";
    for (const std::int64_t size : spec.rows) text << size << "x";
    text << spec.in << "x" << spec.out;
    if (!spec.needs) text << "/grad_none";
    if (!spec.only.empty()) text << "/grad_" << spec.only;
    return text.str();
}

LinearDtypes dtypes_of(const Precision& policy, const LinearSite& of) {
    const DType computed = policy.compute(OpClass::linear, of.name);
    const bool float8 = computed == DType::float8_e4m3fn || computed == DType::float8_e5m2;
    return {to_scalar_type(policy.storage(OpClass::linear, of.name)),
            to_scalar_type(float8 ? DType::bfloat16 : computed)};
}

void run_linear(const LinearSpec& spec, const std::shared_ptr<const PrecisionRequest>& request,
                const VerifyOptions& options, Findings& findings) {
    const LinearDtypes dtypes = [&] {
        const Binding binding(findings.component(), request);
        return dtypes_of(*static_cast<const Precision*>(binding.interface()), site);
    }();
    OperationCase one = linear_case(spec, request, options, dtypes);
    if (!spec.also_rows.empty()) {
        LinearSpec other = spec;
        other.rows = spec.also_rows;
        other.also_rows.clear();
        one.in_turn = {linear_case(other, request, options, dtypes)};
        one.rounds = 10;
    }
    Report report;
    run_case(findings.component(), findings.facts(), one, report);
    findings.take(report);
}

}  // namespace switchyard::conformance
