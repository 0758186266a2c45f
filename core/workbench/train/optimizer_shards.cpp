#include "core/workbench/train/optimizer_shards.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "core/kernel/base/input_error.h"
#include "core/kernel/config/trainable.h"
#include "core/workbench/train/nonfinite_over_ranks.h"

namespace switchyard::train {
namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

at::Tensor part_of(const at::Tensor& whole, std::int64_t begin, std::int64_t count) {
    if (count == whole.numel()) return whole;
    return whole.reshape({-1}).narrow(0, begin, count);
}

bool has_masters(const std::vector<ParameterGroup>& groups) {
    for (const auto& group : groups)
        for (const auto& parameter : group.parameters)
            if (parameter.master.defined()) return true;
    return false;
}

}  // namespace

OptimizerShards::OptimizerShards(distributed::Group& group, const config::Config& config,
                                 const runtime::OptimizerOp& optimizer, std::vector<ParameterGroup>& groups,
                                 ParameterShards* parameters, const ModelParts* model)
    : group_(group),
      optimizer_(optimizer),
      parameters_(parameters),
      model_(model),
      most_bytes_(static_cast<std::size_t>(config.distributed.bucket_mb * mebibyte)) {
    const auto alignment = optimizer.part_alignment();
    const auto refuse = [&](const std::string& what) {
        throw base::InputError(config::told_at(config, "distributed.shard") + what);
    };
    if (!alignment)
        refuse("the optimizer " + optimizer.binding().plugin() + "/" + optimizer.binding().component() +
               " steps whole models only; expected \"none\", or an optimizer.backend that can be divided");
    alignment_ = *alignment;
    if (model_ != nullptr && model_->steps_wholes())
        refuse("the optimizer " + optimizer.binding().plugin() + "/" + optimizer.binding().component() +
               " steps whole matrices, of which ranks have parts here; expected \"none\", another "
               "optimizer.algorithm or backend, or distributed.mesh.tensor = 1");
    // A moving average is made of masters, of which no rank has all.
    if (config.train.ema > 0.0 && has_masters(groups))
        throw base::InputError(config::told_at(config, "train.ema") +
                               "with distributed.shard and parameters of lower precision there is no average "
                               "of the weights; expected 0");
    std::vector<std::int64_t> sizes;
    std::vector<std::string> names;
    for (const auto& one : groups) {
        for (const auto& parameter : one.parameters) {
            if (!parameter.value.is_contiguous())
                throw std::logic_error(parameter.name + " is not contiguous in memory");
            whole_.push_back({parameter.name, parameter.value.detach(),
                              model_ != nullptr ? model_->number_of(parameter.name) : 0});
            sizes.push_back(parameter.value.numel());
            names.push_back(parameter.name);
        }
    }
    shards_ = parameters_ != nullptr ? parameters_->shards_of(names)
                                     : divide_over_ranks(sizes, group.world_size(), alignment_);
    for (std::int64_t rank = 0; rank < group.world_size(); ++rank) {
        const auto is_of = [&](const Shard& shard) { return shard.rank == rank && shard.count > 0; };
        if (std::ranges::none_of(shards_, is_of))
            refuse("there is nothing that rank " + std::to_string(rank) + " of " +
                   std::to_string(group.world_size()) +
                   " could step: the parameters are too few or too small; expected \"none\", or fewer ranks");
    }
    bind_own(groups);
}

void OptimizerShards::bind_own(std::vector<ParameterGroup>& groups) {
    std::size_t index = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        ParameterGroup own{groups[i].name, groups[i].hyper, {}};
        for (auto& parameter : groups[i].parameters) {
            for (const auto& shard : shards_) {
                if (shard.parameter != index || shard.rank != group_.rank() || shard.count == 0) continue;
                Parameter part;
                part.name = parameter.name;
                part.value = parameters_ != nullptr ? parameters_->value(part.name, shard.begin)
                                                    : part_of(whole_[index].value, shard.begin, shard.count);
                if (parameter.master.defined()) {
                    part.master = part_of(parameter.master, shard.begin, shard.count);
                    if (shard.count < parameter.master.numel()) part.master = part.master.clone();
                }
                own.parameters.push_back(std::move(part));
                parts_.push_back(
                    {static_cast<std::int64_t>(index), shard.begin, whole_[index].value.numel()});
            }
            parameter.master.reset();
            ++index;
        }
        if (own.parameters.empty()) continue;
        own_.push_back(std::move(own));
        group_of_.push_back(i);
    }
    optimizer_.bind_parts(own_, parts_);
}

// A part's gradient is a view of its parameter's, or of what a rank has of all gradients.
void OptimizerShards::take_gradients(const std::vector<ParameterGroup>& groups) {
    std::vector<const at::Tensor*> gradients;
    for (const auto& one : groups)
        for (const auto& parameter : one.parameters) gradients.push_back(&parameter.gradient);
    std::size_t number = 0;
    for (std::size_t i = 0; i < own_.size(); ++i) {
        own_[i].hyper = groups[group_of_[i]].hyper;
        for (auto& parameter : own_[i].parameters) {
            const auto& part = parts_[number++];
            if (parameters_ != nullptr) {
                parameter.gradient = parameters_->gradient(parameter.name, part.begin);
                continue;
            }
            const auto& gradient = *gradients[static_cast<std::size_t>(part.index)];
            parameter.gradient =
                gradient.defined() ? part_of(gradient, part.begin, parameter.value.numel()) : at::Tensor();
        }
    }
}

// Of a parameter that is whole on ranks that have parts of others, one rank's values count.
bool OptimizerShards::counts(std::int64_t index) const {
    if (model_ == nullptr) return true;
    const auto number = whole_[static_cast<std::size_t>(index)].number;
    return model_->counts(model_->all()[static_cast<std::size_t>(number)]);
}

double OptimizerShards::squares() const {
    std::vector<at::Tensor> gradients;
    std::size_t number = 0;
    for (const auto& one : own_)
        for (const auto& parameter : one.parameters)
            if (counts(parts_[number++].index) && parameter.gradient.defined())
                gradients.push_back(parameter.gradient);
    return squares_of(gradients);
}

// In buckets of one dtype, from the rank that stepped them.
void OptimizerShards::hand_round() {
    const at::NoGradGuard no_grad;
    for (std::size_t first = 0; first < shards_.size();) {
        const auto value_of = [&](const Shard& shard) {
            return part_of(whole_[shard.parameter].value, shard.begin, shard.count);
        };
        std::vector<at::Tensor> values{value_of(shards_[first])};
        std::size_t bytes = values.front().nbytes();
        auto next = first + 1;
        for (; next < shards_.size() && shards_[next].rank == shards_[first].rank; ++next) {
            auto value = value_of(shards_[next]);
            bytes += value.nbytes();
            if (value.scalar_type() != values.front().scalar_type() || bytes > most_bytes_) break;
            values.push_back(std::move(value));
        }
        for (auto& value : values) value = value.reshape({-1});
        const bool steps = shards_[first].rank == group_.rank();
        std::int64_t count = 0;
        for (const auto& value : values) count += value.numel();
        auto sent = steps ? at::cat(values) : at::empty({count}, values.front().options());
        group_.broadcast(sent, shards_[first].rank);
        if (!steps) {
            std::int64_t begin = 0;
            for (auto& value : values) {
                value.copy_(sent.narrow(0, begin, value.numel()));
                begin += value.numel();
            }
        }
        first = next;
    }
}

StepResult OptimizerShards::step(const std::vector<ParameterGroup>& groups, const StepParams& params) {
    take_gradients(groups);
    auto& all = model_ != nullptr ? model_->mesh().world() : group_;
    const double norm = norm_over_ranks(all, optimizer_, params, [this] { return squares(); });
    if (!std::isfinite(norm)) return without_step(norm);
    auto result = optimizer_.step_parts(own_, params, norm);
    for (auto& one : own_)
        for (auto& parameter : one.parameters) parameter.gradient.reset();
    if (parameters_ != nullptr) return result;
    hand_round();
    runtime::raise_versions(groups);
    return result;
}

std::string OptimizerShards::nonfinite(const std::vector<ParameterGroup>& groups) {
    if (parameters_ == nullptr && model_ == nullptr) return nonfinite_gradients(groups);
    take_gradients(groups);
    std::vector<GradientFinding> all;
    if (model_ != nullptr)
        all = model_->nothing_found();
    else
        for (const auto& whole : whole_) all.push_back({whole.name, 0, whole.value.numel()});
    std::vector<OwnFinding> found;
    std::size_t number = 0;
    for (const auto& one : own_) {
        for (const auto& parameter : one.parameters) {
            const auto index = parts_[number++].index;
            if (!counts(index)) continue;
            found.push_back({model_ != nullptr ? whole_[static_cast<std::size_t>(index)].number : index,
                             nonfinite_values(parameter.gradient)});
        }
    }
    return nonfinite_over_ranks(model_ != nullptr ? model_->mesh().world() : group_, std::move(all), found);
}

std::map<std::string, at::Tensor> OptimizerShards::masters() const {
    std::map<std::string, at::Tensor> masters;
    for (const auto& one : own_)
        for (const auto& parameter : one.parameters)
            if (parameter.master.defined()) masters[parameter.name] = parameter.master;
    return masters;
}

const OptimizerShards::Whole* OptimizerShards::find(const std::string& name) const {
    const auto found = std::ranges::find(whole_, name, &Whole::name);
    return found == whole_.end() ? nullptr : &*found;
}

// Entries of the parts of one parameter, in their order.
at::Tensor OptimizerShards::joined(const std::string& parameter, const std::vector<at::Tensor>& parts) const {
    if (parts.size() == 1) return parts.front();
    std::vector<at::Tensor> flat;
    for (const auto& part : parts) flat.push_back(part.reshape({-1}));
    const auto all = at::cat(flat);
    const auto& value = find(parameter)->value;
    return all.numel() == value.numel() ? all.reshape(value.sizes()) : all;
}

// Ranks have parts in the order of memory, so entries of one parameter come in that order.
OptimizerShards::Entries OptimizerShards::gather(const Entries& own, const EntryReceiver& to) {
    const auto place = model_ != nullptr ? " of " + model_->own_place() : std::string();
    const auto all = gather_entries(group_, own, to, "state " + std::to_string(++gathers_) + place);
    Entries entries;
    for (const auto& parameter : whole_) {
        std::vector<std::string> keys;
        std::map<std::string, std::vector<at::Tensor>> parts;
        for (const auto& entry : all) {
            if (entry.parameter != parameter.name) continue;
            if (!parts.contains(entry.key)) keys.push_back(entry.key);
            parts[entry.key].push_back(entry.value);
        }
        for (const auto& key : keys)
            entries.push_back({parameter.name, key, joined(parameter.name, parts[key])});
    }
    return entries;
}

OptimizerState OptimizerShards::gather_state(const EntryReceiver& to) {
    auto state = optimizer_.state();
    state.entries = gather(state.entries, to);
    return state;
}

std::map<std::string, at::Tensor> OptimizerShards::gather_masters(const EntryReceiver& to) {
    Entries own;
    for (const auto& [name, master] : masters()) own.push_back({name, "", master});
    std::map<std::string, at::Tensor> all;
    for (auto& entry : gather(own, to)) all[entry.parameter] = std::move(entry.value);
    return all;
}

at::Tensor OptimizerShards::own_part(const Whole& parameter, const ParameterPart& part,
                                     const at::Tensor& entry) const {
    const auto whole = parameter.value.numel();
    std::int64_t count = 0;
    for (const auto& shard : shards_)
        if (shard.rank == group_.rank() && static_cast<std::int64_t>(shard.parameter) == part.index)
            count = shard.count;
    if (count == whole) return entry;
    if (entry.numel() == whole) return part_of(entry, part.begin, count);
    const auto blocks = [&](std::int64_t values) { return (values + alignment_ - 1) / alignment_; };
    if (alignment_ > 0 && entry.numel() == blocks(whole))
        return part_of(entry, part.begin / alignment_, blocks(count));
    std::ostringstream text;
    text << "a state of " << parameter.name << " has shape " << entry.sizes()
         << ", which cannot be divided as its parameter of shape " << parameter.value.sizes() << " is";
    throw std::invalid_argument(text.str());
}

void OptimizerShards::load(const OptimizerState& whole, const std::map<std::string, at::Tensor>& masters) {
    OptimizerState own{whole.algorithm, whole.step, {}};
    for (const auto& entry : whole.entries) {
        const auto* const parameter = find(entry.parameter);
        if (parameter == nullptr)
            throw std::invalid_argument("state entry '" + entry.key + "' of '" + entry.parameter +
                                        "' belongs to no parameter here");
        for (const auto& part : parts_) {
            if (&whole_[static_cast<std::size_t>(part.index)] != parameter) continue;
            own.entries.push_back({entry.parameter, entry.key, own_part(*parameter, part, entry.value)});
        }
    }
    optimizer_.load(own);
    const at::NoGradGuard no_grad;
    std::size_t number = 0;
    for (auto& one : own_) {
        for (auto& parameter : one.parameters) {
            const auto& part = parts_[number++];
            if (!parameter.master.defined()) continue;
            parameter.master.copy_(part_of(masters.at(parameter.name), part.begin, parameter.master.numel()));
        }
    }
}

}  // namespace switchyard::train
