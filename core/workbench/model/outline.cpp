#include "core/workbench/model/outline.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/workbench/model/model.h"

namespace switchyard::model {
namespace {

using config::Config;
using resolver::SlotUse;

bool has(const std::vector<Phase>& phases, Phase phase) {
    return std::find(phases.begin(), phases.end(), phase) != phases.end();
}

OptimizerRequest optimizer_request(const Config& config, const Requests& requests) {
    const auto& slot = config.optimizer;
    auto r = requests.make<OptimizerRequest>(requests.storage(OpClass::linear, "model"), Phase::train, slot);
    r.needs_grad = false;
    r.algorithm = slot.algorithm;
    r.custom = slot.custom;
    r.gradient_dtype = r.dtype;
    r.master_weights = size_of(r.dtype) < size_of(DType::float32);
    r.clip = slot.max_grad_norm > 0;
    r.unscale = config.precision.loss_scaling.value_or(false);
    return r;
}

DataLoaderRequest data_loader_request(const Config& config, const Requests& requests, Phase phase) {
    auto r = requests.make<DataLoaderRequest>(DType::int64, phase, config.data_loader);
    r.needs_grad = false;
    r.batch = requests.batch();
    r.length = requests.lengths();
    r.labels_per_token = config.task.label_per_token();
    r.token_budget = config.batch.tokens;
    return r;
}

}  // namespace

SlotUse outline_precision(const Config& config) {
    auto request = std::make_shared<PrecisionRequest>();
    request->dtype = config.precision.parameter_dtype.value_or(DType::float32);
    request->device = config.run.device;
    request->layout = config.batch.planned_layout();
    request->phase = has(config.run.phases, Phase::train) || config.run.phases.empty()
                         ? Phase::train
                         : config.run.phases.front();
    request->needs_grad = false;  // a policy is not differentiated
    request->deterministic = config.run.deterministic;
    request->allow_reduced = config.precision.allow_reduced;
    request->loss_scaling = config.precision.loss_scaling.value_or(false);
    const auto origin = config.origins.find("precision.backend");
    const auto phase = request->phase;
    return {Kind::precision,
            "precision",
            "model",
            {},
            phase,
            std::move(request),
            config.precision,
            origin == config.origins.end() ? config::Origin{} : origin->second};
}

std::vector<SlotUse> outline(const Config& config, const Dtypes& dtypes) {
    Describer describer(config, dtypes);
    make_model(describer);
    const auto& requests = describer.requests();
    for (const auto phase : config.run.phases) {
        if (phase != Phase::train && phase != Phase::eval) continue;
        describer.add_use({Kind::data_loader, "data_loader", "model", config.data_loader}, phase,
                          std::make_shared<DataLoaderRequest>(data_loader_request(config, requests, phase)));
        if (phase != Phase::train) continue;
        describer.add_use({Kind::optimizer, "optimizer", "model", config.optimizer}, phase,
                          std::make_shared<OptimizerRequest>(optimizer_request(config, requests)));
    }
    return describer.uses();
}

std::vector<ModelPart> describe(const Config& config) {
    const auto dtypes = configured_dtypes(config);
    Describer describer(config, dtypes);
    make_model(describer);
    return describer.parts();
}

ModelNames describe_names(const Config& config) {
    auto all_stages = config;
    all_stages.distributed.stage = {};
    const auto dtypes = configured_dtypes(all_stages);
    Describer describer(all_stages, dtypes);
    make_model(describer);
    return {describer.parameters(), describer.linear_layers()};
}

}  // namespace switchyard::model
