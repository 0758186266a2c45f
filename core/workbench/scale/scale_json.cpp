// A plan for many ranks as JSON: "ranks" of docs/schema/plan.json.
#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/workbench/scale/scale_plan.h"

namespace switchyard::scale {
namespace {

using Json = nlohmann::ordered_json;

Json memory_json(const RankMemory& memory) {
    return {{"parameters", memory.parameters},
            {"gradients", memory.gradients},
            {"optimizer_state", memory.optimizer_state},
            {"activations", memory.activations},
            {"buckets", memory.buckets},
            {"gathered", memory.gathered},
            {"all", memory.all()}};
}

Json step_json(const StepTimeline& step) {
    Json buckets = Json::array();
    for (const auto& one : step.buckets)
        buckets.push_back({{"bytes", one.bucket.bytes},
                           {"parameters", one.bucket.parameters},
                           {"full_ms", base::number_or_null(one.full_ms)},
                           {"begin_ms", base::number_or_null(one.begin_ms)},
                           {"end_ms", base::number_or_null(one.end_ms)}});
    return {{"ranks", step.ranks},
            {"step_ms", base::number_or_null(step.step_ms)},
            {"forward_end_ms", base::number_or_null(step.forward_end_ms)},
            {"backward_end_ms", base::number_or_null(step.backward_end_ms)},
            {"communication_ms", base::number_or_null(step.communication_ms)},
            {"exposed_ms", base::number_or_null(step.exposed_ms)},
            {"gather_ms", base::number_or_null(step.gather_ms)},
            {"waits_ms", base::number_or_null(step.waits_ms)},
            {"efficiency", base::number_or_null(step.efficiency)},
            {"buckets", buckets}};
}

}  // namespace

Json to_json(const ScalePlan& plan) {
    Json steps = Json::array();
    for (const auto& step : plan.steps) steps.push_back(step_json(step));
    Json stages = Json::array();
    for (const auto& stage : plan.stages)
        stages.push_back({{"has", stage.has},
                          {"parameters", stage.parameters},
                          {"micro_batch_flops", stage.micro_batch_flops},
                          {"kept_micro_batches", stage.kept},
                          {"memory_bytes", memory_json(stage.memory)},
                          {"waits_ms", base::number_or_null(stage.waits_ms)}});
    const auto& settings = plan.settings;
    return {{"ranks", settings.ranks},
            {"memory_bytes_of_rank", memory_json(plan.memory)},
            {"memory_bytes_there", settings.memory_bytes},
            {"step_flops", plan.step_flops},
            {"step_ms_told", settings.step_ms ? Json(*settings.step_ms) : Json(nullptr)},
            {"utilization", settings.step_ms ? Json(nullptr) : Json(settings.utilization)},
            {"samples_of_rank", plan.samples},
            {"tensor_ranks", plan.tensor_ranks},
            {"stages", stages},
            {"micro_batches", plan.micro_batches},
            {"bubble", base::number_or_null(plan.bubble)},
            {"messages_sent_by_rank", plan.messages},
            {"bytes_sent_by_rank", plan.sent_bytes},
            {"steps", steps}};
}

}  // namespace switchyard::scale
