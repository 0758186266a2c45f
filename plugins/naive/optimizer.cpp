#include "optimizer.h"

#include <switchyard/sdk/optimizer_groups.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {

NaiveOptimizer::NaiveOptimizer(const CreateInfo& info)
    : Optimizer(info),
      algorithm_(optimizer_request(info).algorithm),
      unscale_(optimizer_request(info).unscale),
      steps_(algorithm_) {}

Verdict NaiveOptimizer::supports(const OptimizerRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    REQUIRE(verdict, request.algorithm != OptimizerKind::custom, Code::Algorithm, "algorithm",
            "adamw, adam, sgd, lion, lamb or muon", formula_name(request));
    REQUIRE(verdict, is_native_float(request.gradient_dtype), Code::DType, "gradient_dtype",
            "float32, float64, bfloat16 or float16", name(request.gradient_dtype));
    return verdict;
}

StepResult NaiveOptimizer::asked_for(StepResult result, const StepParams& params) const {
    const bool unscale = unscale_ || params.grad_scale != 1.0 || params.grad_scale_tensor.defined();
    if (!unscale) result.found_inf = at::Tensor();
    if (!unscale && params.max_grad_norm <= 0.0) result.grad_norm = at::Tensor();
    return result;
}

StepResult NaiveOptimizer::step(std::vector<ParameterGroup>& groups, const StepParams& params) {
    executed();
    return asked_for(steps_.step(groups, params), params);
}

StepResult NaiveOptimizer::step_parts(std::vector<ParameterGroup>& groups, const StepParams& params,
                                      double grad_norm) {
    executed();
    return asked_for(steps_.step_parts(groups, params, grad_norm), params);
}

}  // namespace switchyard
