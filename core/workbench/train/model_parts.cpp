#include "core/workbench/train/model_parts.h"

#include <sstream>
#include <stdexcept>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

namespace switchyard::train {
namespace {

// That does not hold on to the whole.
at::Tensor own_copy(const model::ParameterCut& cut, const at::Tensor& whole) {
    return cut.own(whole).clone(at::MemoryFormat::Contiguous);
}

}  // namespace

void ModelParts::sum(at::Tensor& tensor) {
    try {
        ranks_.sum(tensor);
    } catch (const distributed::RankLost&) {
        lost_ = true;
        throw;
    }
}

at::Tensor ModelParts::joined(const at::Tensor& part) {
    try {
        return at::cat(ranks_.gather(part), -1);
    } catch (const distributed::RankLost&) {
        lost_ = true;
        throw;
    }
}

at::Tensor ModelParts::joined(const model::ParameterCut& cut, const at::Tensor& own, bool keep) const {
    const auto parts = ranks_.gather(own);
    return keep ? cut.joined(parts) : at::Tensor();
}

model::Parameters ModelParts::whole(bool keep) const {
    const at::NoGradGuard no_grad;
    model::Parameters all;
    for (const auto& parameter : parameters_.all()) {
        const auto value = parameter.value.detach();
        const auto one = parameter.cut.whole() ? value : joined(parameter.cut, value, keep);
        if (keep) all.add(parameter.name, parameter.cut.whole() ? one.clone() : one);
    }
    return all;
}

void ModelParts::take(const model::Parameters& whole) {
    const at::NoGradGuard no_grad;
    for (const auto& parameter : parameters_.all())
        parameter.value.copy_(parameter.cut.own(whole.find(parameter.name)->value));
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

TrainingState ModelParts::whole(TrainingState own, bool keep) const {
    for (auto& [parameter, key, value] : own.optimizer.entries)
        if (const auto* const cut = cut_of(parameter, value.sizes(), false))
            value = joined(*cut, value, keep);
    join(own.masters, keep);
    join(own.average, keep);
    return own;
}

TrainingState ModelParts::own(TrainingState whole) const {
    for (auto& [parameter, key, value] : whole.optimizer.entries)
        if (const auto* const cut = cut_of(parameter, value.sizes(), true)) value = own_copy(*cut, value);
    cut(whole.masters);
    cut(whole.average);
    return whole;
}

std::int64_t ModelParts::whole_bytes() const {
    std::int64_t bytes = 0;
    for (const auto& parameter : parameters_.all())
        bytes += parameter.cut.part.parts * static_cast<std::int64_t>(parameter.value.nbytes());
    return bytes;
}

}  // namespace switchyard::train
