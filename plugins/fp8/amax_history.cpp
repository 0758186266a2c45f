#include "amax_history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "float8.h"

namespace switchyard::fp8 {
namespace {

// Legend:  H steps  3 x, weight, gradient
constexpr const char* history_prefix = "amax_history.";
constexpr const char* scale_prefix = "scale.";
constexpr const char* steps_key = "steps";

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
    std::ostringstream text;
    text << "precision state: ";
    (text << ... << parts);
    throw std::invalid_argument(text.str());
}

bool is_fp8(const std::string& key) {
    return key.starts_with(history_prefix) || key.starts_with(scale_prefix) || key == steps_key;
}

void check(const std::string& key, const at::Tensor& value, at::IntArrayRef sizes, at::ScalarType type) {
    if (value.defined() && value.sizes() == sizes && value.scalar_type() == type) return;
    if (value.defined() && value.dim() == 2 && value.scalar_type() == type)
        refuse("'", key, "' has ", value.size(0), " steps, this policy keeps ", sizes[0],
               ": set precision.options.fp8.amax_history_length = ", value.size(0));
    refuse("'", key, "' is not ", type, " ", sizes);
}

}  // namespace

at::Tensor AmaxHistory::scale(const std::string& name, Role role, at::Device device) {
    Site& site = sites_[name];
    if (!site.scale_3.defined()) return {};
    if (site.scale_3.device() != device) {
        site.scale_3 = site.scale_3.to(device);
        site.history_H3 = site.history_H3.to(device);
    }
    return site.scale_3[static_cast<std::int64_t>(role)];
}

void AmaxHistory::record(const std::string& name, Role role, const at::Tensor& amax) {
    at::Tensor& pending = sites_[name].pending[static_cast<std::size_t>(role)];
    pending = pending.defined() ? at::maximum(pending, amax) : amax;
}

void AmaxHistory::begin_step() {
    for (auto& [name, site] : sites_) site.pending = {};
}

void AmaxHistory::end_step() {
    const bool rescale = steps_ % settings_.interval == 0;
    bool any = false;
    for (auto& [name, site] : sites_) {
        if (std::none_of(site.pending.begin(), site.pending.end(),
                         [](const at::Tensor& amax) { return amax.defined(); }))
            continue;
        advance(site, rescale);
        any = true;
    }
    steps_ += any ? 1 : 0;
}

void AmaxHistory::advance(Site& site, bool rescale) const {
    std::vector<at::Tensor> seen;
    at::TensorOptions options;
    for (const at::Tensor& amax : site.pending) {
        if (amax.defined()) options = amax.options();
    }
    for (const at::Tensor& amax : site.pending)
        seen.push_back(amax.defined() ? amax : at::zeros({}, options));
    site.pending = {};
    const at::Tensor all_3 = at::stack(seen);
    const at::Tensor newest_3 = at::where(all_3.isfinite(), all_3, 0.0F);
    // A layer's first step gives it a scale whatever the interval is.
    const bool first = !site.scale_3.defined();
    if (first) {
        site.history_H3 = at::zeros({settings_.length, 3}, options);
        site.scale_3 = at::ones({3}, options);
    }
    site.history_H3 = at::cat({newest_3.unsqueeze(0), site.history_H3.narrow(0, 0, settings_.length - 1)});
    if (!rescale && !first) return;
    const at::Tensor amax_3 = settings_.most_recent ? newest_3 : at::amax(site.history_H3, 0);
    const float values = largest(Format::e4m3), gradients = largest(Format::e5m2);
    const at::Tensor largest_3 = at::tensor({values, values, gradients}, options);
    const at::Tensor scale_3 = (largest_3 / amax_3).div(std::ldexp(1.0F, static_cast<int>(settings_.margin)));
    site.scale_3 =
        at::where(amax_3.gt(0.0), at::clamp_max(scale_3, std::numeric_limits<float>::max()), site.scale_3);
}

PrecisionState AmaxHistory::state() const {
    PrecisionState state;
    state.entries.push_back({steps_key, at::scalar_tensor(steps_, at::kLong)});
    for (const auto& [name, site] : sites_) {
        if (!site.scale_3.defined()) continue;
        state.entries.push_back({history_prefix + name, site.history_H3});
        state.entries.push_back({scale_prefix + name, site.scale_3});
    }
    return state;
}

void AmaxHistory::load(const PrecisionState& state) {
    std::map<std::string, Site> sites;
    std::int64_t steps = 0;
    for (const auto& [key, value] : state.entries) {
        if (!is_fp8(key)) continue;
        if (key == steps_key) {
            check(key, value, {}, at::kLong);
            steps = value.item<std::int64_t>();
        } else if (key.starts_with(history_prefix)) {
            check(key, value, {settings_.length, 3}, at::kFloat);
            sites[key.substr(std::string(history_prefix).size())].history_H3 = value.clone();
        } else {
            check(key, value, {3}, at::kFloat);
            sites[key.substr(std::string(scale_prefix).size())].scale_3 = value.clone();
        }
    }
    for (const auto& [name, site] : sites) {
        if (!site.history_H3.defined() || !site.scale_3.defined())
            refuse("there is no ", site.scale_3.defined() ? history_prefix : scale_prefix, name,
                   ", which belongs to the other of the two");
    }
    steps_ = steps;
    sites_ = std::move(sites);
}

}  // namespace switchyard::fp8
