#include "core/workbench/scale/step_work.h"

#include <map>
#include <set>

#include "core/workbench/model/pipeline_stage.h"
#include "core/workbench/model/step_flops.h"

namespace switchyard::scale {

bool is_trained(const Trained& trained, const std::string& name) { return !trained || trained(name); }

bool runs_again(config::Recompute recompute, const std::string& part) {
    const bool attention = part == "attention" || part == "cross-attention";
    const bool feed_forward = part == "feed-forward";
    switch (recompute) {
        case config::Recompute::none:
            return false;
        case config::Recompute::layers:
            return attention || feed_forward;
        case config::Recompute::attention:
            return attention;
        case config::Recompute::feed_forward:
            return feed_forward;
    }
    return false;
}

namespace {

// "decoder.0. attention": what runs again as a whole.
std::string module_of(const model::StepProduct& product) {
    const auto stack_end = product.weight.find('.');
    return product.weight.substr(0, product.weight.find('.', stack_end + 1) + 1) + " " + product.part;
}

}  // namespace

std::vector<ProductFlops> product_flops_of(const config::Config& config, const Trained& trained) {
    const auto learns = [&](const std::string& name) { return is_trained(trained, name); };
    const auto products = model::step_products(config, learns);
    std::set<std::string> in_backward;  // what backward passes through
    for (const auto& product : products)
        if (product.backward > 0.0) in_backward.insert(module_of(product));
    const auto every = static_cast<double>(config.train.recompute_every);
    std::vector<ProductFlops> all;
    for (const auto& product : products) {
        const double amount = model::largest_amount(config.batch, product);
        Flops flops{amount * product.forward, amount * product.backward};
        if (runs_again(config.train.recompute, product.part) && in_backward.contains(module_of(product)))
            flops.backward += flops.forward / every;
        all.push_back({product.weight, flops});
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
