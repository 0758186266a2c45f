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
#include "core/workbench/train/gathered_entries.h"

namespace switchyard::train {
namespace {

// That does not hold on to the whole.
at::Tensor own_copy(const model::ParameterCut& cut, const at::Tensor& whole) {
    return cut.own(whole).clone(at::MemoryFormat::Contiguous);
}

// What a state that travels from stage to stage is, in front of its key.
constexpr char of_optimizer = 'o', of_masters = 'm', of_average = 'a', of_precision = 'p';

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
    if (steps_wholes_) choose_steppers();
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
at::Tensor ModelParts::whole_of(const WholeParameter& parameter, const at::Tensor& own, bool keep,
                                const at::TensorOptions& options) const {
    auto* const stages = mesh_.pipeline();
    const auto* const cut = cut_of(parameter.name);
    at::Tensor whole = own;
    if (cut != nullptr) whole = joined(*cut, own, keep || stages != nullptr);
    if (stages == nullptr) return whole;
    if (!whole.defined()) whole = at::empty(parameter.sizes, options);
    stages->broadcast(whole, parameter.stages.front());
    return whole;
}

model::Parameters ModelParts::whole(bool keep) const {
    const at::NoGradGuard no_grad;
    const auto options = parameters_.all().front().value.options().requires_grad(false);
    model::Parameters all;
    for (const auto& parameter : all_) {
        const auto* const own = parameters_.find(parameter.name);
        at::Tensor value;
        if (own != nullptr) value = own->value.detach();
        if (own != nullptr && own->cut.whole()) value = value.clone();
        const auto whole = whole_of(parameter, value, keep, options);
        if (keep) all.add(parameter.name, whole);
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
            all[i] = whole_of(all_[i], here[all_[i].name], true, options);
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

void ModelParts::join(Tensors& tensors, bool keep) const {
    for (auto& [name, tensor] : tensors)
        if (const auto* const cut = cut_of(name, tensor.sizes(), false)) tensor = joined(*cut, tensor, keep);
}

void ModelParts::cut(Tensors& tensors) const {
    for (auto& [name, tensor] : tensors)
        if (const auto* const cut = cut_of(name, tensor.sizes(), true)) tensor = own_copy(*cut, tensor);
}

TrainingState ModelParts::whole(TrainingState own, bool keep) {
    const bool sends = mesh_.pipeline() != nullptr && mesh_.data_index() == 0 &&
                       mesh_.tensor_index_of(mesh_.world().rank()) == 0;
    if (steps_wholes_) {
        if (mesh_.data_index() == 0) gather_wholes(own);
    } else {
        for (auto& [parameter, key, value] : own.optimizer.entries)
            if (const auto* const cut = cut_of(parameter, value.sizes(), false))
                value = joined(*cut, value, keep || sends);
    }
    join(own.masters, keep || sends);
    join(own.average, keep || sends);
    if (sends) gather_stages(own);
    return own;
}

// On the ranks that have parts of the same layers: the first one gets what others step.
void ModelParts::gather_wholes(TrainingState& state) {
    std::vector<OptimizerStateEntry> sent;
    for (const auto& entry : state.optimizer.entries)
        if (cut_of(entry.parameter) != nullptr)
            sent.push_back({entry.parameter, entry.key, entry.value.contiguous()});
    std::erase_if(state.optimizer.entries,
                  [&](const OptimizerStateEntry& entry) { return cut_of(entry.parameter) != nullptr; });
    const auto what = "state of wholes " + std::to_string(++gathered_wholes_) + " of stage " +
                      std::to_string(mesh_.stage());
    for (auto& entry : gather_entries(*mesh_.tensor(), sent, what))
        state.optimizer.entries.push_back(std::move(entry));
}

// On the ranks of the first rank's pipeline.
void ModelParts::gather_stages(TrainingState& state) {
    std::vector<OptimizerStateEntry> sent;
    const auto add = [&](char what, const std::string& name, const std::string& key,
                         const at::Tensor& value) {
        if (is_first_with(name)) sent.push_back({name, what + key, value.contiguous()});
    };
    for (const auto& [parameter, key, value] : state.optimizer.entries)
        add(of_optimizer, parameter, key, value);
    for (const auto& [name, value] : state.masters) add(of_masters, name, "", value);
    for (const auto& [name, value] : state.average) add(of_average, name, "", value);
    for (const auto& [key, value] : state.precision.entries) add(of_precision, site_of(key), key, value);
    state.optimizer.entries.clear();
    state.precision.entries.clear();
    state.masters.clear();
    state.average.clear();
    for (auto& [name, key, value] :
         gather_entries(*mesh_.pipeline(), sent, "state of stages " + std::to_string(++gathered_stages_))) {
        const auto own_key = key.substr(1);
        if (key.front() == of_optimizer) state.optimizer.entries.push_back({name, own_key, value});
        if (key.front() == of_precision) state.precision.entries.push_back({own_key, value});
        if (key.front() == of_masters) state.masters[name] = value;
        if (key.front() == of_average) state.average[name] = value;
    }
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
