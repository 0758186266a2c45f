#include "core/workbench/cli/bench/inference_messages.h"

#include <algorithm>
#include <filesystem>

#include "core/workbench/cli/compare/compare_messages.h"
#include "core/workbench/compare/arms/arm_message.h"
#include "core/workbench/compare/experiment/arm_keys.h"

namespace switchyard::cli {

using Json = nlohmann::ordered_json;

InferenceMessages::InferenceMessages(const CheckedArms& arms, JobOptions job, std::string folder,
                                     compare::Operation operation, std::vector<compare::Workload> workloads)
    : arms_(arms),
      job_(std::move(job)),
      folder_(std::move(folder)),
      operation_(operation),
      workloads_(std::move(workloads)) {}

std::string InferenceMessages::first_file(std::size_t arm) const {
    return folder_ + "/first-" + std::to_string(arm) + ".safetensors";
}

Json InferenceMessages::prepare(std::size_t at, int round) const {
    const auto& arm = arms_.arms[at];
    const auto& config = arms_.config;
    const auto shared = folder_ + "/shared";
    Json workloads = Json::array();
    for (const auto& workload : workloads_) workloads.push_back(to_json(workload));
    Json message{{"type", "prepare"},
                 {"protocol", compare::arm_protocol},
                 {"operation", name(operation_)},
                 {"name", arm.name},
                 {"seed", config.run.seed},
                 {"first_step_file", round == 0 ? first_file(at) : ""},
                 {"workloads", workloads},
                 {"cached", arm.cached}};
    if (arm.external()) {
        message["device"] = name(config.run.device);
        message["threads"] = config.runtime.threads;
        message["model"] = arm_model_json(config);
        message["task"] = arm_task_json(config);
        message["weights"] = shared + "/weights";
        message["batches"] = shared + "/batches.safetensors";
        return message;
    }
    std::vector<std::string> overrides;
    for (const auto& implied : job_.implied) overrides.push_back(implied.text);
    overrides.insert(overrides.end(), job_.overrides.begin(), job_.overrides.end());
    const auto own = compare::without_arm_keys(arm.overrides);
    overrides.insert(overrides.end(), own.begin(), own.end());
    message["config"] = job_.config;
    message["trust"] = job_.trust;
    message["of_run"] = job_.of_run;
    message["overrides"] = overrides;
    message["measured"] = arm_measured_json(arms_);
    message["samples"] = 0;
    message["amplification"] = at == arms_.reference_arm && round == 0;
    const bool external =
        std::any_of(arms_.arms.begin(), arms_.arms.end(), [](const auto& one) { return one.external(); });
    if (at == arms_.reference_arm && external && round == 0) {
        std::filesystem::create_directories(shared + "/weights");
        message["export_folder"] = shared;
    }
    return message;
}

}  // namespace switchyard::cli
