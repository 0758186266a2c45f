#include "core/workbench/scale/step_work.h"

#include <map>

#include "core/workbench/model/pipeline_stage.h"
#include "core/workbench/model/step_flops.h"

namespace switchyard::scale {

bool is_trained(const Trained& trained, const std::string& name) { return !trained || trained(name); }

std::vector<ProductFlops> product_flops_of(const config::Config& config, const Trained& trained) {
    const auto learns = [&](const std::string& name) { return is_trained(trained, name); };
    std::vector<ProductFlops> all;
    for (const auto& product : model::step_products(config, learns)) {
        const double amount = model::largest_amount(config.batch, product);
        all.push_back({product.weight, {amount * product.forward, amount * product.backward}});
    }
    return all;
}

Flops flops_of_stage(const config::Config& config, const std::vector<ProductFlops>& products) {
    const model::PipelineStage stage(config);
    Flops sum;
    for (const auto& product : products)
        if (stage.has(product.weight)) sum += product.flops;
    return sum;
}

std::vector<Flops> flops_of_parameters(const std::vector<ProductFlops>& products,
                                       const std::vector<model::DescribedParameter>& parameters) {
    std::map<std::string, Flops> by_weight;
    for (const auto& product : products) by_weight[product.weight] += product.flops;
    std::vector<Flops> flops;
    for (const auto& parameter : parameters) {
        const auto found = by_weight.find(parameter.name);
        flops.push_back(found == by_weight.end() ? Flops() : found->second);
    }
    return flops;
}

}  // namespace switchyard::scale
