#include "core/workbench/scale/stage_plan.h"

#include <algorithm>

#include "core/kernel/base/joined.h"
#include "core/workbench/model/outline.h"
#include "core/workbench/model/pipeline_schedule.h"
#include "core/workbench/model/pipeline_stage.h"

namespace switchyard::scale {

std::vector<model::DescribedParameter> parameters_of_stage(const config::Config& config) {
    const model::PipelineStage stage(config);
    auto parameters = model::describe_names(config).parameters;
    std::erase_if(parameters, [&](const auto& parameter) { return !stage.has(parameter.name); });
    return parameters;
}

std::string stage_text(const config::Config& config, std::int64_t number) {
    const model::PipelineStage stage(config, number);
    std::string text;
    if (stage.embeds()) base::add_item(text, "embeddings");
    for (const auto stack : {config::Stack::encoder, config::Stack::decoder}) {
        const auto [begin, end] = stage.layers(stack);
        if (begin == end) continue;
        std::string layers = config::to_string(config::LayerId{stack, begin});
        if (end - begin > 1) layers.append("-").append(std::to_string(end - 1));
        base::add_item(text, layers);
    }
    if (stage.is_last()) base::add_item(text, "head");
    return text;
}

std::vector<StagePlan> stage_plans(const config::Config& whole, DType computed_in, std::int64_t data_ranks,
                                   const std::vector<ProductFlops>& products, const Trained& trained) {
    auto config = whole;
    std::vector<StagePlan> plans;
    const auto stages = config.distributed.stage.parts;
    for (auto& stage = config.distributed.stage.index = 0; stage < stages; ++stage) {
        const auto parts = model::describe(config);
        const auto parameters = parameters_of_stage(config);
        StagePlan plan;
        plan.has = stage_text(config, stage);
        plan.memory = memory_of_rank(config, parts, parameters, trained, computed_in, data_ranks);
        for (const auto& part : parts) {
            plan.parameters += part.parameters;
            plan.micro_batch_flops += part.forward_flops;
        }
        for (const auto& parameter : parameters)
            if (is_trained(trained, parameter.name)) plan.trained += values_of(parameter);
        plan.backward_flops = flops_of_stage(config, products).backward;
        if (stages > 1)
            plan.kept = model::most_kept(config.distributed.schedule, stage, stages,
                                         config.train.grad_accumulation_steps);
        plan.memory.activations *= plan.kept;
        plans.push_back(std::move(plan));
    }
    return plans;
}

StageTraffic stage_traffic(const config::Config& config, DType computed_in, const Trained& trained) {
    StageTraffic traffic;
    if (config.distributed.stage.whole()) return traffic;
    // Beside the hidden states of its decoder what its encoder made, which goes on to the last stage.
    traffic.tensors = config.model.has_cross_attention() ? 2 : 1;
    traffic.bytes = static_cast<double>(config.batch.most_tokens()) *
                    static_cast<double>(config.model.hidden_size) * static_cast<double>(size_of(computed_in));
    const auto value_bytes =
        static_cast<double>(size_of(config.precision.parameter_dtype.value_or(DType::float32)));
    for (const auto& parameter : parameters_of_stage(config)) {
        const auto by = static_cast<std::int64_t>(model::stages_with(config, parameter.name).size());
        if (by == 1 || !is_trained(trained, parameter.name)) continue;
        traffic.shared_bytes += value_bytes * static_cast<double>(values_of(parameter));
        traffic.shared_by = std::max(traffic.shared_by, by);
    }
    return traffic;
}

}  // namespace switchyard::scale
