#include "emulated_fused.h"

#include <switchyard/sdk/plugin.h>
#include <switchyard/sdk/serves.h>

namespace switchyard::test {
namespace {

constexpr sdk::ComponentFacts facts(const char* gradient, const char* random) {
    return {"emulated", "", "", 0, gradient, random, "exact", 0.0, "{}"};
}
constexpr sdk::ComponentFacts of_step = facts("none", "none");
const SwitchyardComponent step_entry = sdk::component<Kind::optimizer, EmulatedStep>(of_step);

// Of one multiprocessor 8 blocks: they walk over several pieces each.
constexpr device::Queue queue{nullptr, 1};

const OptimizerRequest& request_of(const CreateInfo& info) {
    return *static_cast<const OptimizerRequest*>(info.request);
}

}  // namespace

EmulatedStep::EmulatedStep(const CreateInfo& info)
    : Optimizer(info), device_(request_of(info).algorithm, request_of(info).unscale) {}

Verdict EmulatedStep::supports(const OptimizerRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    REQUIRE(verdict, is_float_to_32_bits(request.dtype), Code::DType, "dtype", "float32, bfloat16 or float16",
            name(request.dtype));
    return verdict;
}

StepResult EmulatedStep::step(std::vector<ParameterGroup>& groups, const StepParams& params) {
    executed();
    return device_.step(groups, params, queue);
}

conformance::ComponentUnderTest emulated_fused(Kind) {
    static const HostInfo host;
    return {"fused on emulated cuda", &step_entry, &host, {}, ""};
}

}  // namespace switchyard::test
