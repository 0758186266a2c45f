#include "core/workbench/compare/arms/first_step_file.h"

#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros_like.h>

#include "core/workbench/bench/measure/relative_distance.h"
#include "core/workbench/model/weights/huggingface_family.h"
#include "core/workbench/model/weights/tensors.h"
#include "core/workbench/model/weights/their_form.h"

namespace switchyard::compare {

at::Tensor labelled_logits(const config::Config& config, const model::TaskResult& result) {
    if (!result.logits.defined() || config.task.float_labels()) return result.logits;
    const auto labelled = result.targets.ne(config.loss.ignore_index).nonzero().squeeze(1);
    return result.logits.index_select(0, labelled);
}

void write_first_step(const std::string& path, const config::Config& config,
                      const model::Parameters& parameters, const FirstStep& step) {
    std::vector<model::NamedTensor> tensors;
    if (step.logits.defined()) tensors.push_back({"logits", step.logits.to(at::kFloat)});
    if (step.further.defined()) tensors.push_back({"further_logits", step.further.to(at::kFloat)});
    if (!step.gradients.empty()) {
        std::map<std::string, at::Tensor> ours;
        for (std::size_t i = 0; i < parameters.all().size(); ++i) {
            const auto& parameter = parameters.all()[i];
            ours[parameter.name] =
                step.gradients[i].defined() ? step.gradients[i] : at::zeros_like(parameter.value, at::kFloat);
        }
        for (const auto& theirs : model::their_tensors(model::family_of(config), parameters)) {
            tensors.push_back(
                {"gradient." + theirs.name,
                 model::in_their_form(theirs, [&](const std::string& name) { return ours.at(name); })});
        }
    }
    if (const auto error = model::write_safetensors(path, tensors, {})) throw std::runtime_error(*error);
}

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// Outputs that are not finite where the base's are have no distance: they are as far from them as can be.
double output_distance(const std::vector<at::Tensor>& values, const std::vector<at::Tensor>& bases) {
    const double found = bench::relative_distance(values, bases);
    if (!std::isnan(found)) return found;
    for (const auto& base : bases)
        if (!at::isfinite(base).all().item<bool>()) return found;
    return infinite;
}

// Outputs of a token; all others are gradients.
bool is_output(const std::string& name) { return name == "logits" || name == "further_logits"; }

// Of gradients that are not finite nothing is known: a loss scale may have been too large for them.
double gradient_distance(const std::vector<at::Tensor>& values, const std::vector<at::Tensor>& bases) {
    for (const auto& value : values)
        if (!at::isfinite(value).all().item<bool>()) return std::numeric_limits<double>::quiet_NaN();
    return bench::relative_distance(values, bases);
}

}  // namespace

Drift drift_between(const std::string& base, const std::string& arm) {
    const auto ours = model::SafetensorsFile::open(arm), theirs = model::SafetensorsFile::open(base);
    Drift drift;
    if (!ours.file || !theirs.file) return drift;
    std::vector<at::Tensor> outputs, base_outputs, values, bases;
    for (const auto& stored : theirs.file->tensors()) {
        const auto* const same = ours.file->find(stored.name);
        if (same == nullptr) continue;
        if (same->shape != stored.shape) {
            (is_output(stored.name) ? drift.output : drift.gradient) = infinite;
            continue;
        }
        const auto value = model::view_stored(ours.file, *same),
                   exact = model::view_stored(theirs.file, stored);
        (is_output(stored.name) ? outputs : values).push_back(value);
        (is_output(stored.name) ? base_outputs : bases).push_back(exact);
    }
    if (!outputs.empty() && drift.output != infinite) drift.output = output_distance(outputs, base_outputs);
    if (!values.empty() && drift.gradient != infinite) drift.gradient = gradient_distance(values, bases);
    return drift;
}

}  // namespace switchyard::compare
