#include "core/workbench/train/model_parts.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "core/workbench/model/low_rank.h"
#include "core/workbench/model/outline.h"
#include "core/workbench/model/pipeline_stage.h"

namespace switchyard::train {
namespace {

// That does not hold on to the whole.
at::Tensor own_copy(const model::ParameterCut& cut, const at::Tensor& whole) {
    return cut.own(whole).clone(at::MemoryFormat::Contiguous);
}

// "amax_history.encoder.0.attention.q" is of that layer; what is of none is the same in all stages, or the
// head's, which the last one has.
std::string site_of(const std::string& key) {
    for (const std::string stack : {"encoder.", "decoder."})
        if (const auto at = key.find(stack); at != std::string::npos) return key.substr(at);
    return key;
}

}  // namespace

ModelParts::ModelParts(distributed::Mesh& mesh, const config::Config& config, model::Parameters& parameters,
                       bool steps_wholes)
    : mesh_(mesh),
      config_(config),
      parameters_(parameters),
      steps_wholes_(steps_wholes && mesh.tensor() != nullptr) {
    if (mesh.tensor() != nullptr) choose_steppers();
    auto whole = config;
    whole.distributed.part = {};
    for (auto& [name, sizes] : model::describe_names(whole).parameters)
        all_.push_back({name, std::move(sizes), model::stages_with(config, name)});
}

// Each goes to the rank that has least to step.
void ModelParts::choose_steppers() {
    std::vector<std::int64_t> values(static_cast<std::size_t>(mesh_.tensor()->world_size()));
    for (const auto& parameter : parameters_.all()) {
        if (parameter.cut.whole()) continue;
        const auto least = std::ranges::min_element(values);
        steppers_[parameter.name] = least - values.begin();
        *least += parameter.value.numel();
    }
}

const model::ParameterCut* ModelParts::cut_of(const std::string& parameter) const {
    const auto* const found = parameters_.find(parameter);
    return found == nullptr || found->cut.whole() ? nullptr : &found->cut;
}

bool ModelParts::steps(const std::string& parameter) const {
    return stepper(parameter) == mesh_.tensor()->rank();
}

std::int64_t ModelParts::number_of(const std::string& parameter) const {
    const auto found = std::ranges::find(all_, parameter, &WholeParameter::name);
    if (found == all_.end()) throw std::logic_error(parameter + " is no parameter of the model");
    return found - all_.begin();
}

std::string ModelParts::own_place() const {
    return "stage " + std::to_string(mesh_.stage()) + " part " +
           std::to_string(mesh_.tensor_index_of(mesh_.world().rank()));
}

std::vector<GradientFinding> ModelParts::nothing_found() const {
    std::vector<GradientFinding> findings;
    for (const auto& [name, sizes, stages] : all_) {
        const auto values = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
        findings.push_back({name, 0, values});
    }
    return findings;
}

bool ModelParts::counts(const WholeParameter& parameter) const {
    if (parameter.stages.front() != mesh_.stage()) return false;
    return !parameters_.find(parameter.name)->cut.whole() || mesh_.tensor_index_of(mesh_.world().rank()) == 0;
}

bool ModelParts::is_first_with(const std::string& name) const {
    return model::stages_with(config_, name).front() == mesh_.stage();
}

template <class Together>
auto ModelParts::watched(const Together& together) {
    try {
        return together(*mesh_.tensor());
    } catch (const distributed::RankLost&) {
        lost_ = true;
        throw;
    }
}

void ModelParts::sum_partial_gradients() {
    if (config_.lora.rank == 0 || mesh_.tensor() == nullptr) return;
    const at::NoGradGuard no_grad;
    for (const auto& parameter : parameters_.all()) {
        auto gradient = parameter.value.grad();
        if (gradient.defined() && model::has_partial_gradient(parameters_, parameter.name)) sum(gradient);
    }
}

void ModelParts::sum(at::Tensor& tensor) {
    watched([&](distributed::Group& ranks) { ranks.sum(tensor); });
}

at::Tensor ModelParts::joined(const at::Tensor& part) {
    return watched([&](distributed::Group& ranks) { return at::cat(ranks.gather(part), -1); });
}

void ModelParts::gather_pieces(const at::Tensor& own, const at::Tensor& all,
                               const std::vector<std::int64_t>& sizes) {
    watched([&](distributed::Group& ranks) { ranks.gather_pieces(own, all, sizes)->wait(); });
}

void ModelParts::sum_pieces(const at::Tensor& all, const at::Tensor& own,
                            const std::vector<std::int64_t>& sizes) {
    watched([&](distributed::Group& ranks) { ranks.sum_pieces(all, own, sizes)->wait(); });
}

at::Tensor ModelParts::joined(const model::ParameterCut& cut, const at::Tensor& own, bool keep) const {
    const auto parts = mesh_.tensor()->gather(own);
    return keep ? cut.joined(parts) : at::Tensor();
}

// Of what this rank has of it; undefined: nothing.
at::Tensor ModelParts::whole_of(const WholeParameter& parameter, const at::Tensor& own,
                                const at::TensorOptions& options) const {
    const auto* const cut = cut_of(parameter.name);
    auto whole = cut != nullptr ? joined(*cut, own, true) : own;
    auto* const stages = mesh_.pipeline();
    if (stages == nullptr) return whole;
    if (!whole.defined()) whole = at::empty(parameter.sizes, options);
    stages->broadcast(whole, parameter.stages.front());
    return whole;
}

model::Parameters ModelParts::whole() const {
    const at::NoGradGuard no_grad;
    const auto options = parameters_.all().front().value.options().requires_grad(false);
    model::Parameters all;
    for (const auto& parameter : all_) {
        const auto* const own = parameters_.find(parameter.name);
        at::Tensor value;
        if (own != nullptr) value = own->value.detach();
        if (own != nullptr && own->cut.whole()) value = value.clone();
        all.add(parameter.name, whole_of(parameter, value, options));
    }
    return all;
}

std::vector<at::Tensor> ModelParts::whole(const std::vector<at::Tensor>& own) const {
    const at::NoGradGuard no_grad;
    Tensors here;
    for (std::size_t i = 0; i < own.size(); ++i)
        if (own[i].defined()) here[parameters_.all()[i].name] = own[i].contiguous();
    const auto options = parameters_.all().front().value.options().dtype(at::kFloat).requires_grad(false);
    // On how many stages each is.
    auto counts = at::zeros({static_cast<std::int64_t>(all_.size())}, options);
    for (std::size_t i = 0; i < all_.size(); ++i)
        if (here.contains(all_[i].name)) counts[static_cast<std::int64_t>(i)] = 1.0F;
    if (mesh_.pipeline() != nullptr) mesh_.pipeline()->sum(counts);
    counts = counts.cpu();
    std::vector<at::Tensor> all(all_.size());
    for (std::size_t i = 0; i < all_.size(); ++i)
        if (counts[static_cast<std::int64_t>(i)].item<float>() > 0.0F)
            all[i] = whole_of(all_[i], here[all_[i].name], options);
    return all;
}

void ModelParts::take(const model::Parameters& whole) {
    const at::NoGradGuard no_grad;
    for (const auto& parameter : parameters_.all())
        parameter.value.copy_(parameter.cut.own(whole.find(parameter.name)->value));
}

void ModelParts::take_of_stages(model::Parameters& layers) const {
    const at::NoGradGuard no_grad;
    for (const auto& parameter : layers.all()) {
        auto value = parameter.value.detach();
        if (const auto* const own = parameters_.find(parameter.name)) value.copy_(own->value);
        const auto& stages = all_[static_cast<std::size_t>(number_of(parameter.name))].stages;
        mesh_.pipeline()->broadcast(value, stages.front());
    }
}

// A state may have values of its own for its parameter, such as a count of steps, which all ranks have.
const model::ParameterCut* ModelParts::cut_of(const std::string& parameter, at::IntArrayRef sizes,
                                              bool whole) const {
    const auto* const found = parameters_.find(parameter);
    if (found == nullptr) throw std::invalid_argument("'" + parameter + "' is no parameter here");
    const auto& cut = found->cut;
    if (cut.whole()) return nullptr;
    const auto own = found->value.sizes().vec();
    if (sizes == at::IntArrayRef(whole ? cut.whole_sizes(own) : own)) return &cut;
    if (sizes.empty()) return nullptr;
    std::ostringstream text;
    text << "a state of " << parameter << " has shape " << sizes << ", of which ranks have no part each";
    throw std::invalid_argument(text.str());
}

void ModelParts::cut(Tensors& tensors) const {
    for (auto& [name, tensor] : tensors)
        if (const auto* const cut = cut_of(name, tensor.sizes(), true)) tensor = own_copy(*cut, tensor);
}

CheckpointPart ModelParts::checkpoint_part() const {
    const auto rank = mesh_.world().rank();
    return {mesh_.stage() * mesh_.tensor_ranks() + mesh_.tensor_index_of(rank),
            mesh_.stages() * mesh_.tensor_ranks(), mesh_.data_index_of(rank) == 0};
}

bool ModelParts::writes(const std::string& parameter) const {
    const auto writer = steppers_.find(parameter);
    return mesh_.data_index() == 0 && is_first_with(parameter) &&
           mesh_.tensor_index_of(mesh_.world().rank()) == (writer == steppers_.end() ? 0 : writer->second);
}

model::Parameters ModelParts::written_parameters() const {
    const at::NoGradGuard no_grad;
    model::Parameters written;
    for (const auto& parameter : parameters_.all()) {
        const bool keep = writes(parameter.name);
        auto value = parameter.value.detach();
        if (!parameter.cut.whole()) value = joined(parameter.cut, value, keep);
        if (keep) written.add(parameter.name, value);
    }
    return written;
}

void ModelParts::join_written(Tensors& tensors) const {
    for (auto& [name, tensor] : tensors)
        if (const auto* const cut = cut_of(name, tensor.sizes(), false))
            tensor = joined(*cut, tensor, writes(name));
    std::erase_if(tensors, [this](const auto& entry) { return !writes(entry.first); });
}

TrainingState ModelParts::written(TrainingState own) const {
    auto& entries = own.optimizer.entries;
    if (!steps_wholes_) {
        for (auto& [parameter, key, value] : entries)
            if (const auto* const cut = cut_of(parameter, value.sizes(), false))
                value = joined(*cut, value, writes(parameter));
    }
    std::erase_if(entries, [this](const auto& entry) { return !writes(entry.parameter); });
    join_written(own.masters);
    join_written(own.average);
    std::erase_if(own.precision.entries, [this](const auto& entry) { return !writes(site_of(entry.key)); });
    return own;
}

TrainingState ModelParts::own(TrainingState whole) const {
    const auto foreign = [&](const std::string& name) { return parameters_.find(name) == nullptr; };
    const auto known = [&](const std::string& name) {
        return std::ranges::any_of(all_, [&](const auto& parameter) { return parameter.name == name; });
    };
    std::erase_if(whole.optimizer.entries, [&](const OptimizerStateEntry& entry) {
        return foreign(entry.parameter) && known(entry.parameter);
    });
    std::erase_if(whole.masters, [&](const auto& entry) { return foreign(entry.first); });
    std::erase_if(whole.average, [&](const auto& entry) { return foreign(entry.first); });
    if (steps_wholes_) {
        std::erase_if(whole.optimizer.entries, [&](const OptimizerStateEntry& entry) {
            return cut_of(entry.parameter) != nullptr && !steps(entry.parameter);
        });
    } else {
        for (auto& [parameter, key, value] : whole.optimizer.entries)
            if (const auto* const cut = cut_of(parameter, value.sizes(), true)) value = own_copy(*cut, value);
    }
    cut(whole.masters);
    cut(whole.average);
    return whole;
}

std::int64_t ModelParts::whole_bytes() const {
    const auto value_bytes = parameters_.all().front().value.element_size();
    std::int64_t bytes = 0;
    for (const auto& parameter : nothing_found()) bytes += parameter.all * value_bytes;
    return bytes;
}

}  // namespace switchyard::train
