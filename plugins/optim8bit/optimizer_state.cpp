#include "optimizer_state.h"

#include <algorithm>

#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <switchyard/sdk/optimizer_groups.h>

#include "block_kernels.h"
#include "dynamic_codes.h"

namespace switchyard::optim8bit {
namespace {

Moment make_moment(const at::Tensor& value, bool wide, std::uint8_t zero) {
    const auto options = value.options().requires_grad(false);
    if (wide) return {at::zeros_like(value, options.dtype(at::kFloat)), {}};
    return {at::full_like(value, zero, options.dtype(at::kByte)),
            at::zeros({(value.numel() + block - 1) / block}, options.dtype(at::kFloat))};
}

}  // namespace

bool Wide::holds(const Parameter& parameter, const ParameterPart& part) const {
    if (part.whole < min_8bit_size) return true;
    return std::any_of(names.begin(), names.end(), [&](const std::string& part) {
        return parameter.name.find(part) != std::string::npos;
    });
}

void State::bind(const std::vector<ParameterGroup>& groups, const std::vector<ParameterPart>& parts) {
    check_groups("optim8bit", groups);
    moments_.clear();
    entries_.clear();
    step = 0;
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            const auto index = moments_.size();
            const auto part =
                parts.empty() ? ParameterPart{static_cast<std::int64_t>(index), 0, parameter.value.numel()}
                              : parts[index];
            Moments own{parameter.name, {}, {}, wide_.holds(parameter, part), part};
            const auto add = [&](const std::string& key, Moment& moment, std::uint8_t zero) {
                moment = make_moment(parameter.value.detach(), own.wide, zero);
                entries_.push_back({parameter.name, key, moment.values});
                if (!own.wide) entries_.push_back({parameter.name, key + "_absmax", moment.largest});
            };
            add("exp_avg", own.first, signed_zero);
            if (algorithm_ == OptimizerKind::adamw) add("exp_avg_sq", own.second, unsigned_zero);
            moments_.push_back(std::move(own));
        }
    }
}

void State::load(const OptimizerState& state) {
    load_state("optim8bit", algorithm_, state, entries_);
    step = state.step;
}

}  // namespace switchyard::optim8bit
