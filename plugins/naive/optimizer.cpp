#include "optimizer.h"

#include <switchyard/sdk/optimizer_groups.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {

NaiveOptimizer::NaiveOptimizer(const CreateInfo& info)
    : Optimizer(info), unscale_(optimizer_request(info).unscale), steps_(optimizer_request(info).algorithm) {}

Verdict NaiveOptimizer::supports(const OptimizerRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    REQUIRE(verdict, is_native_float(request.gradient_dtype), Code::DType, "gradient_dtype",
            "float32, float64, bfloat16 or float16", name(request.gradient_dtype));
    return verdict;
}

StepResult NaiveOptimizer::step(std::vector<ParameterGroup>& groups, const StepParams& params) {
    executed();
    auto result = steps_.step(groups, params);
    const bool unscale = unscale_ || params.grad_scale != 1.0 || params.grad_scale_tensor.defined();
    if (!unscale) result.found_inf = at::Tensor();
    if (!unscale && params.max_grad_norm <= 0.0) result.grad_norm = at::Tensor();
    return result;
}

}  // namespace switchyard
