#include "core/workbench/model/low_rank.h"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>

#include "core/kernel/config/name_pattern.h"
#include "core/kernel/config/trainable.h"

namespace switchyard::model {

bool is_low_rank(std::string_view parameter) {
    return parameter.ends_with(".lora_a.weight") || parameter.ends_with(".lora_b.weight");
}

bool has_partial_gradient(const Parameters& parameters, const std::string& parameter) {
    if (!is_low_rank(parameter) || !parameters.find(parameter)->cut.whole()) return false;
    const bool is_a = parameter.ends_with(".lora_a.weight");
    const auto linear = parameter.substr(0, parameter.size() - std::string_view(".lora_a.weight").size());
    const auto* const other = parameters.find(is_a ? low_rank_b(linear) : low_rank_a(linear));
    return other != nullptr && !other->cut.whole();
}

std::vector<std::string> low_rank_problems(const config::Config& config,
                                           const std::vector<std::string>& linear_layers,
                                           const std::vector<std::string>& parameters) {
    std::vector<std::string> problems;
    const auto check = [&](const char* key, const std::vector<std::string>& patterns,
                           const std::vector<std::string>& names, const char* what) {
        for (const auto& pattern : patterns) {
            const auto fits = [&](const auto& name) { return config::name_matches(pattern, name); };
            if (std::ranges::any_of(names, fits)) continue;
            problems.push_back(config::told_at(config, key) + "\"" + pattern + "\" is the name of no " +
                               what + "; " + config::near_pattern(pattern, names));
        }
    };
    if (config.lora.rank == 0) return problems;
    if (config.train.weights.empty() && config.data.given())
        problems.push_back(config::told_at(config, "lora.rank") +
                           "there are no weights to adapt; expected train.weights or model.from");
    check("lora.targets", config.lora.targets, linear_layers, "linear layer of a stack");
    // A model has but some of the heads that stand there if nobody wrote anything.
    auto written = config.lora.trained;
    const auto usual = config::LoraConfig{}.trained;
    std::erase_if(written, [&](const auto& name) { return std::ranges::find(usual, name) != usual.end(); });
    check("lora.trained", written, parameters, "parameter");
    return problems;
}

Parameters merged(const config::LoraConfig& lora, const Parameters& parameters) {
    const at::NoGradGuard no_grad;
    Parameters all;
    for (const auto& parameter : parameters.all()) {
        if (is_low_rank(parameter.name)) continue;
        auto value = parameter.value.detach();
        const auto end = parameter.name.rfind(".weight");
        const auto linear = parameter.name.substr(0, end);
        if (const auto* const a = parameters.find(low_rank_a(linear));
            end != std::string::npos && a != nullptr) {
            const auto b = parameters.find(low_rank_b(linear))->value.detach().to(at::kFloat);
            const auto added = at::matmul(b, a->value.detach().to(at::kFloat)).mul_(low_rank_scale(lora));
            value = added.add_(value.to(at::kFloat)).to(value.scalar_type());
        }
        all.add(parameter.name, value);
    }
    return all;
}

}  // namespace switchyard::model
