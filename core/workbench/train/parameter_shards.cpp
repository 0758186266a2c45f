#include "core/workbench/train/parameter_shards.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "core/workbench/model/parameter_storage.h"

namespace switchyard::train {
namespace {

at::Tensor flat(const at::Tensor& parameter) { return parameter.detach().view({-1}); }

at::Tensor values_of(const at::Tensor& parameter, const Shard& shard) {
    return flat(parameter).narrow(0, shard.begin, shard.count);
}

}  // namespace

ParameterShards::ParameterShards(distributed::Group& group, const config::Config& config,
                                 model::Parameters& parameters, std::int64_t alignment,
                                 std::shared_ptr<runtime::StepWeights> weights)
    : group_(group),
      parameters_(parameters),
      weights_(std::move(weights)),
      as_bfloat16_(config.distributed.compression == config::Compression::bfloat16) {
    const auto options = value_of(0).options().requires_grad(false);
    for (std::size_t i = 0; i < parameters.all().size(); ++i) {
        const auto& [name, value, decay, cut] = parameters.all()[i];
        if (!value.is_contiguous() || value.scalar_type() != options.dtype() ||
            model::held_bytes(value) != static_cast<std::int64_t>(value.nbytes()))
            throw std::logic_error(name + " does not lie in memory by itself, or is of another dtype");
    }
    for (auto& layout : shard_units(config, parameters, group.world_size(), alignment)) {
        auto& unit = units_.emplace_back();
        unit.layout = std::move(layout);
        unit.own = at::empty({unit.layout.sizes[static_cast<std::size_t>(group.rank())]}, options);
        unit.is_there = true;
    }
    for (std::size_t i = 0; i < units_.size(); ++i)
        for (const auto& part : units_[i].layout.parts)
            if (part.values.rank == group.rank())
                own_[parameters.all()[part.values.parameter].name].push_back({i, &part});
    measure();
}

std::vector<Shard> ParameterShards::shards_of(const std::vector<std::string>& names) const {
    std::map<std::size_t, std::vector<Shard>> by_number;
    for (const auto& unit : units_)
        for (const auto& part : unit.layout.parts) by_number[part.values.parameter].push_back(part.values);
    std::map<std::string, std::size_t> numbers;
    for (std::size_t i = 0; i < parameters_.all().size(); ++i) numbers[parameters_.all()[i].name] = i;
    std::vector<Shard> all;
    for (std::size_t place = 0; place < names.size(); ++place) {
        for (auto shard : by_number[numbers.at(names[place])]) {
            shard.parameter = place;
            all.push_back(shard);
        }
    }
    return all;
}

const ParameterShards::Place& ParameterShards::place_of(const std::string& parameter,
                                                        std::int64_t begin) const {
    for (const auto& place : own_.at(parameter))
        if (place.part->values.begin == begin) return place;
    throw std::logic_error("no part of " + parameter + " begins there");
}

at::Tensor ParameterShards::value(const std::string& parameter, std::int64_t begin) const {
    const auto& [unit, part] = place_of(parameter, begin);
    const auto own = units_[unit].own.narrow(0, part->offset, part->values.count);
    const auto& whole = value_of(part->values.parameter);
    return part->values.count == whole.numel() ? own.view(whole.sizes()) : own;
}

at::Tensor ParameterShards::gradient(const std::string& parameter, std::int64_t begin) const {
    const auto& [unit, part] = place_of(parameter, begin);
    const auto& gradient = units_[unit].gradient;
    if (!gradient.defined()) return {};
    const auto own = gradient.narrow(0, part->offset, part->values.count);
    const auto& whole = value_of(part->values.parameter);
    return part->values.count == whole.numel() ? own.view(whole.sizes()) : own;
}

void ParameterShards::drop_gradients() {
    for (auto& unit : units_) unit.gradient.reset();
}

std::vector<at::Tensor> ParameterShards::whole_gradients() {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> gradients(parameters_.all().size());
    for (const auto& unit : units_) {
        if (!unit.gradient.defined()) continue;
        const auto all = at::empty({unit.layout.all_trained()}, unit.gradient.options());
        group_.gather_pieces(unit.gradient, all, unit.layout.trained_sizes)->wait();
        for (const auto& part : unit.layout.parts) {
            if (!part.trained) continue;
            auto& gradient = gradients[part.values.parameter];
            if (!gradient.defined())
                gradient = at::empty(value_of(part.values.parameter).sizes(), unit.gradient.options());
            const auto from = unit.layout.trained_begin_of(part.values.rank) + part.offset;
            values_of(gradient, part.values).copy_(all.narrow(0, from, part.values.count));
        }
    }
    return gradients;
}

std::size_t ParameterShards::number_of(const config::LayerId& layer) const {
    const auto is_it = [&](const Unit& unit) { return unit.layout.layer == layer; };
    const auto found = std::ranges::find_if(units_, is_it);
    if (found == units_.end()) throw std::logic_error(config::to_string(layer) + " is no unit");
    return static_cast<std::size_t>(found - units_.begin());
}

void ParameterShards::divide() {
    if (!whole_) return;
    const at::NoGradGuard no_grad;
    for (auto& unit : units_) {
        for (const auto& part : unit.layout.parts) {
            if (part.values.rank != group_.rank()) continue;
            unit.own.narrow(0, part.offset, part.values.count)
                .copy_(values_of(value_of(part.values.parameter), part.values));
        }
        free(unit);
    }
    whole_ = false;
}

void ParameterShards::expect_values() {
    for (auto& unit : units_) {
        unit.is_there = true;
        for (const auto parameter : unit.layout.parameters) model::bring_back(value_of(parameter));
    }
    whole_ = true;
}

void ParameterShards::start(Unit& unit) {
    if (unit.is_there || unit.gathering != nullptr) return;
    unit.arriving = at::empty({unit.layout.all()}, unit.own.options());
    unit.gathering = group_.gather_pieces(unit.own, unit.arriving, unit.layout.sizes);
}

// Version counters stay: what forward saved of parameters for backward has its values again.
void ParameterShards::arrive(Unit& unit) {
    if (unit.is_there) return;
    const at::NoGradGuard no_grad;
    start(unit);
    try {
        unit.gathering->wait();
    } catch (const distributed::RankLost&) {
        lost_ = true;
        throw;
    }
    for (const auto parameter : unit.layout.parameters) model::bring_back(value_of(parameter));
    for (const auto& part : unit.layout.parts) {
        const auto from = unit.layout.begin_of(part.values.rank) + part.offset;
        values_of(value_of(part.values.parameter).variable_data(), part.values)
            .copy_(unit.arriving.narrow(0, from, part.values.count));
    }
    unit.gathering.reset();
    unit.arriving.reset();
    unit.is_there = true;
}

void ParameterShards::free(Unit& unit) {
    for (const auto parameter : unit.layout.parameters) {
        weights_->forget(value_of(parameter));
        model::let_go(value_of(parameter));
    }
    unit.is_there = false;
}

// Whoever keeps forms of parameters learns that the optimizer may have stepped them since they were there.
void ParameterShards::raise_versions() {
    for (const auto& parameter : parameters_.all())
        if (!parameter.value.is_inference()) parameter.value.unsafeGetTensorImpl()->bump_version();
}

void ParameterShards::begin_passes(bool training) {
    divide();
    training_ = training;
    raise_versions();
    arrive(root());
    start(units_.front());
}

void ParameterShards::end_passes() {
    for (auto& unit : units_) {
        if (unit.gathering != nullptr) unit.gathering->wait();  // nobody may be left alone with it
        unit.gathering.reset();
        unit.arriving.reset();
        unit.in_backward = false;
        if (unit.is_there) free(unit);
    }
    measure();
}

void ParameterShards::measure() {
    kept_ = {};
    for (const auto& unit : units_) {
        kept_.parameters += static_cast<std::int64_t>(unit.own.nbytes());
        kept_.gradients += unit.layout.trained_sizes[static_cast<std::size_t>(group_.rank())] *
                           static_cast<std::int64_t>(unit.own.element_size());
    }
    for (const auto& parameter : parameters_.all()) kept_.parameters += model::held_bytes(parameter.value);
}

bool ParameterShards::any(bool own) {
    auto passes = at::zeros({1}, at::kDouble).fill_(own ? 1.0 : 0.0);
    group_.sum(passes);
    const bool goes_on = passes.item<double>() > 0.0;
    if (goes_on) start(units_.front());
    return goes_on;
}

void ParameterShards::pass_along() {
    for (const auto& unit : units_) {
        if (!unit.layout.layer) continue;
        before_forward(*unit.layout.layer);
        after_forward(*unit.layout.layer);
    }
}

void ParameterShards::before_forward(const config::LayerId& layer) {
    const auto number = number_of(layer);
    arrive(units_[number]);
    if (number + 2 < units_.size()) start(units_[number + 1]);
}

// What the last layer has backward begins with.
void ParameterShards::after_forward(const config::LayerId& layer) {
    const auto number = number_of(layer);
    const bool stays = training_ && number + 2 == units_.size();
    if (!stays) free(units_[number]);
}

void ParameterShards::before_backward(const config::LayerId& layer) {
    const auto number = number_of(layer);
    arrive(units_[number]);
    units_[number].in_backward = true;
    if (number > 0) start(units_[number - 1]);
}

void ParameterShards::after_backward(const config::LayerId& layer) {
    after_backward(units_[number_of(layer)]);
}

void ParameterShards::after_backward(Unit& unit) {
    unit.in_backward = false;
    begin_sum(unit);
    free(unit);
}

// Begins the sum of a unit's gradients, which no parameter has any more then, while backward goes on; there
// is one on its way at most.
void ParameterShards::begin_sum(Unit& unit) {
    const at::NoGradGuard no_grad;
    const bool rounds = as_bfloat16_ && unit.own.element_size() > 2;
    const auto options = rounds ? unit.own.options().dtype(at::kBFloat16) : unit.own.options();
    auto all = at::empty({unit.layout.all_trained()}, options);
    std::vector<std::string> without;
    for (const auto& part : unit.layout.parts) {
        if (!part.trained) continue;
        const auto& gradient = value_of(part.values.parameter).grad();
        if (!gradient.defined()) {
            const auto& name = parameters_.all()[part.values.parameter].name;
            if (without.empty() || without.back() != name) without.push_back(name);
            continue;
        }
        const auto to = unit.layout.trained_begin_of(part.values.rank) + part.offset;
        all.narrow(0, to, part.values.count)
            .copy_(gradient.reshape({-1}).narrow(0, part.values.begin, part.values.count));
    }
    for (const auto parameter : unit.layout.parameters) value_of(parameter).mutable_grad().reset();
    if (!without.empty()) throw std::runtime_error(distributed::without_gradient(without));
    end_sum();
    if (all.numel() == 0) return;
    const auto& sizes = unit.layout.trained_sizes;
    auto own = at::empty({sizes[static_cast<std::size_t>(group_.rank())]}, options);
    sum_ = {&unit, all, own, group_.sum_pieces(all, own, sizes)};
}

void ParameterShards::end_sum() {
    if (sum_.unit == nullptr) return;
    const at::NoGradGuard no_grad;
    try {
        sum_.summing->wait();
    } catch (const distributed::RankLost&) {
        lost_ = true;
        throw;
    }
    auto& gradient = sum_.unit->gradient;
    if (gradient.defined())
        gradient.add_(sum_.own);
    else
        gradient = sum_.own.to(sum_.unit->own.scalar_type());
    sum_ = {};
}

// The root's gradients are summed up once a step, those of layers in each backward, whose whole gradients
// nobody keeps.
void ParameterShards::backward(const std::function<void()>& run, bool last) {
    try {
        run();
    } catch (const std::exception& error) {
        if (lost_) throw distributed::RankLost(error.what());
        throw;
    }
    // Of the first layers that learn, where nothing before them does.
    for (auto& unit : units_)
        if (unit.in_backward) after_backward(unit);
    if (last) begin_sum(root());
    end_sum();
    if (!last) start(units_.front());
}

void ParameterShards::gather_all() {
    if (whole_) return;
    raise_versions();
    for (auto& unit : units_) arrive(unit);
    whole_ = true;
}

model::Parameters ParameterShards::gathered(const std::function<bool(const std::string&)>& wanted) {
    if (!whole_) raise_versions();
    model::Parameters copies;
    for (auto& unit : units_) {
        if (!whole_) arrive(unit);
        for (const auto number : unit.layout.parameters) {
            const auto& parameter = parameters_.all()[number];
            if (wanted(parameter.name)) copies.add(parameter.name, parameter.value.detach().clone());
        }
        if (!whole_) free(unit);
    }
    return copies;
}

}  // namespace switchyard::train
