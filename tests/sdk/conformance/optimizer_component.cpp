// A right optimizer, parameter by parameter - and, with a mutation, one that is wrong in one way. It serves
// adamw, adam, sgd and lion, and as an algorithm of its own "sample", which is adamw by another name.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/GradMode.h>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/require.h>
#include <switchyard/interfaces/sharded_optimizer.h>
#include <switchyard/reference/numeric.h>

#include "component.h"

namespace switchyard::test {
namespace {

using reference::wide;
using reference::wide_type;

class OptimizerSample final : public Optimizer, public ShardedOptimizer {
public:
    explicit OptimizerSample(const CreateInfo& info)
        : Optimizer(info),
          mutation_(info),
          request_(*static_cast<const OptimizerRequest*>(info.request)),
          variant_(info.variant == "second" ? "second" : "first") {}

    static Verdict supports(const OptimizerRequest& request, const HostInfo&, const Options& options) {
        Verdict verdict;
        const bool own = request.algorithm == OptimizerKind::custom && request.custom == "sample";
        REQUIRE(verdict, request.algorithm <= OptimizerKind::lion || own, Code::Algorithm, "algorithm",
                "adamw, adam, sgd or lion", name(request.algorithm));
        if (options.string("mutation") == "refuses_float64") {
            REQUIRE(verdict, request.dtype != DType::float64, Code::DType, "dtype", "not float64",
                    name(request.dtype));
        }
        return verdict;
    }

    void bind(const std::vector<ParameterGroup>& groups) override;
    StepResult step(std::vector<ParameterGroup>& groups, const StepParams& params) override {
        return step_with(groups, params, std::nullopt);
    }
    OptimizerState state() const override;
    void load(const OptimizerState& state) override;
    void* query(std::string_view id) override {
        return id == sharded_optimizer_interface ? static_cast<ShardedOptimizer*>(this) : nullptr;
    }

    std::int64_t part_alignment() const override { return is("aligns_below_0") ? -1 : 64; }
    void bind_parts(const std::vector<ParameterGroup>& groups, const std::vector<ParameterPart>&) override {
        bind(groups);
    }
    StepResult step_parts(std::vector<ParameterGroup>& groups, const StepParams& params,
                          double grad_norm) override;

private:
    StepResult step_with(std::vector<ParameterGroup>& groups, const StepParams& params,
                         std::optional<double> known_norm);
    struct Moments {
        at::Tensor first, second;
    };

    bool is(const char* name) const { return mutation_.is(name); }
    bool own() const { return request_.algorithm == OptimizerKind::custom; }
    bool has_second() const { return request_.algorithm <= OptimizerKind::adam || own(); }
    const char* first_key() const {
        return request_.algorithm == OptimizerKind::sgd ? "momentum_buffer" : "exp_avg";
    }
    std::vector<at::Tensor> read(const std::vector<ParameterGroup>& groups, double scale) const;
    void update(const HyperParameters& hyper, double lr, Moments& moments, at::Tensor& w, at::Tensor g) const;
    at::Tensor adam_direction(const HyperParameters& hyper, Moments& moments, const at::Tensor& g) const;
    void write(Parameter& parameter, const at::Tensor& w) const;
    void spoil_update(const at::Tensor& before, const at::Tensor& g, at::Tensor& w) const;
    void spoil(std::vector<ParameterGroup>& groups, const StepParams& params) const;

    Mutation mutation_;
    OptimizerRequest request_;
    const char* variant_;
    std::vector<std::string> order_;
    std::map<std::string, Moments> moments_;
    std::int64_t step_ = 0;
};

void OptimizerSample::bind(const std::vector<ParameterGroup>& groups) {
    std::set<std::string> names;
    for (const ParameterGroup& group : groups) {
        if (group.parameters.empty() && !is("binds_anything"))
            throw std::invalid_argument("group " + group.name);
        for (const Parameter& parameter : group.parameters) {
            const bool fine = parameter.value.is_floating_point() && !parameter.value.is_sparse();
            const bool is_new = names.insert(parameter.name).second;
            if ((!fine || !is_new) && !is("binds_anything"))
                throw std::invalid_argument("parameter " + parameter.name);
            order_.push_back(parameter.name);
            const at::Tensor zeros = wide(parameter.value).to_dense().clone().zero_();
            moments_[parameter.name] = {zeros, has_second() ? zeros.clone() : at::Tensor()};
        }
    }
}

StepResult OptimizerSample::step_parts(std::vector<ParameterGroup>& groups, const StepParams& params,
                                       double grad_norm) {
    StepParams own = params;
    if (is("parts_not_unscaled")) own.grad_scale = 1.0;
    if (is("parts_count_twice")) ++step_;
    if (is("parts_by_own_norm")) return step_with(groups, own, std::nullopt);
    if (is("parts_by_first_group")) {
        for (ParameterGroup& group : groups) group.hyper = groups[0].hyper;
    }
    return step_with(groups, own, grad_norm);
}

// Unscaled and wide.
std::vector<at::Tensor> OptimizerSample::read(const std::vector<ParameterGroup>& groups, double scale) const {
    std::vector<at::Tensor> gradients;
    for (const ParameterGroup& group : groups) {
        for (const Parameter& parameter : group.parameters) {
            at::Tensor g = parameter.gradient;
            if (g.defined() && is("assumes_dense_gradient"))
                g = g.as_strided(g.sizes(), parameter.value.contiguous().strides());
            gradients.push_back(g.defined() ? g.to(wide_type(parameter.value.scalar_type())) / scale : g);
        }
    }
    return gradients;
}

at::Tensor OptimizerSample::adam_direction(const HyperParameters& hyper, Moments& moments,
                                           const at::Tensor& g) const {
    auto& [m, v] = moments;
    m.mul_(hyper.beta1).add_(g, 1.0 - hyper.beta1);
    v.mul_(hyper.beta2).addcmul_(g, g, 1.0 - hyper.beta2);
    auto t = static_cast<double>(is("step_from_zero") ? std::max<std::int64_t>(step_ - 1, 1) : step_);
    if (is("counts_to_1999")) t = std::min(t, 1999.0);
    if (is("counts_in_16_bits")) t = static_cast<double>(step_ % 65536);
    const double first = is("no_bias_correction") ? 1.0 : 1.0 - std::pow(hyper.beta1, t);
    const double second = is("no_bias_correction") ? 1.0 : 1.0 - std::pow(hyper.beta2, t);
    if (is("eps_inside_root")) return (m / first) / (v / second + hyper.eps).sqrt();
    if (is("eps_before_correction")) return (m / first) / ((v.sqrt() + hyper.eps) / std::sqrt(second));
    return (m / first) / ((v / second).sqrt() + hyper.eps);
}

void OptimizerSample::update(const HyperParameters& hyper, double lr, Moments& moments, at::Tensor& w,
                             at::Tensor g) const {
    const bool decoupled =
        request_.algorithm == OptimizerKind::adamw || request_.algorithm == OptimizerKind::lion || own();
    if (is("decay_coupled") || (!decoupled && hyper.weight_decay != 0.0)) g = g + w * hyper.weight_decay;
    if (is("steps_without_rate")) lr += 1e-4;
    if (is("steps_uphill")) lr = -lr;
    if (is("draws_by_chance")) lr *= at::rand({}).item<double>();
    if (decoupled && !is("decay_coupled") && !is("no_decay"))
        w = w * (1.0 - (is("decay_without_rate") ? 1.0 : lr) * hyper.weight_decay);
    if (has_second()) {
        w = w - adam_direction(hyper, moments, g) * lr;
        return;
    }
    at::Tensor& m = moments.first;
    if (request_.algorithm == OptimizerKind::lion) {
        const double mixed = is("lion_betas_swapped") ? hyper.beta2 : hyper.beta1;
        w = w - (m * mixed + g * (1.0 - mixed)).sign() * lr;
        const double kept = is("lion_betas_swapped") ? hyper.beta1 : hyper.beta2;
        m.mul_(kept).add_(g, 1.0 - kept);
        return;
    }
    m.mul_(hyper.momentum).add_(g, is("dampened") ? 1.0 - hyper.momentum : 1.0);
    w = w - (hyper.nesterov && !is("ignores_nesterov") ? g + m * hyper.momentum : m) * lr;
}

void OptimizerSample::spoil_update(const at::Tensor& before, const at::Tensor& g, at::Tensor& w) const {
    if (is("odd_after_5_steps") && step_ > 5) w = before;
    if (is("nan_after_1500_steps") && step_ > 1500) w = w * std::nan("");
    if (is("odd_after_60_steps") && step_ > 60) w = before;
    if (is("zero_weight_is_nan")) w = w * (before / before);
    if (is("zero_gradient_is_nan")) w = w * (g / g);
    if (is("loses_small_updates")) w = before + (w - before).masked_fill((w - before).abs().lt(1e-4), 0.0);
}

void OptimizerSample::write(Parameter& parameter, const at::Tensor& w) const {
    if (!parameter.master.defined() || is("ignores_master")) {
        parameter.value.copy_(w);
        if (parameter.master.defined()) parameter.master.copy_(parameter.value);
        return;
    }
    parameter.master.copy_(w);
    if (!is("value_not_rounded_from_master")) parameter.value.copy_(w);
}

void OptimizerSample::spoil(std::vector<ParameterGroup>& groups, const StepParams& params) const {
    for (ParameterGroup& group : groups) {
        for (Parameter& parameter : group.parameters) {
            const at::Tensor& g = parameter.gradient;
            if (is("zeroes_gradient") && g.defined()) g.zero_();
            const at::Tensor& value = parameter.value;
            if (is("writes_past_end") && value.dim() == 1 && value.is_contiguous())
                value.as_strided({1}, {1}, value.storage_offset() + value.numel()).fill_(0.0);
        }
    }
    if (is("inverts_scale_tensor") && params.grad_scale_tensor.defined())
        params.grad_scale_tensor.reciprocal_();
}

StepResult OptimizerSample::step_with(std::vector<ParameterGroup>& groups, const StepParams& params,
                                      std::optional<double> known_norm) {
    const at::NoGradGuard no_grad;
    const bool by_tensor = params.grad_scale_tensor.defined() && !is("ignores_scale_tensor");
    const double scale = by_tensor ? params.grad_scale_tensor.item<double>() : params.grad_scale;
    const bool by_factor = params.lr_factor_tensor.defined() && !is("ignores_rate_tensor");
    const double factor = by_factor ? params.lr_factor_tensor.item<double>() : 1.0;
    const auto gradients = read(groups, is("forgets_unscaling") ? 1.0 : scale);
    double squares = 0.0;
    bool finite = true;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (!gradients[i].defined() || (is("norm_of_first_group") && i >= 4)) continue;
        squares += gradients[i].to(at::kDouble).square().sum().item<double>();
        const bool looked_at = !is("misses_nan") || !gradients[i].isnan().any().item<bool>();
        finite = finite && (!looked_at || gradients[i].isfinite().all().item<bool>());
    }
    if (is("found_inf_from_norm")) finite = std::isfinite(static_cast<float>(squares));
    const bool clip = params.max_grad_norm > 0.0;
    const double norm = known_norm.value_or(std::sqrt(squares));
    double ratio = clip ? params.max_grad_norm / (norm + 1e-6) : 1.0;
    if (!is("clip_scales_up")) ratio = std::min(1.0, ratio);
    if (is("ignores_clip")) ratio = 1.0;
    StepResult result;
    if (clip || request_.unscale || is("norm_unasked"))
        result.grad_norm = at::scalar_tensor(
            norm * (is("norm_after_clip") ? ratio : 1.0) * (is("norm_scaled") ? scale : 1.0), at::kFloat);
    if (request_.unscale)
        result.found_inf = at::scalar_tensor(finite || is("never_found_inf") ? 0.0 : 1.0, at::kFloat);
    if ((clip || request_.unscale) && !finite && is("counts_on_found_inf")) ++step_;
    if ((clip || request_.unscale) && !finite && !is("steps_on_found_inf")) return result;
    ++step_;
    std::size_t index = 0;
    for (ParameterGroup& group : groups) {
        for (Parameter& parameter : group.parameters) {
            at::Tensor g = gradients[index++];
            at::Tensor w = wide(parameter.master.defined() && !is("ignores_master") ? parameter.master
                                                                                    : parameter.value);
            if (!g.defined() && is("steps_without_gradient")) g = w * 0.0;
            if (!g.defined()) continue;
            HyperParameters hyper = is("first_group_for_all") ? groups[0].hyper : group.hyper;
            if (is("first_eps_for_all")) hyper.eps = groups[0].hyper.eps;
            if (is("first_momentum_for_all")) hyper.momentum = groups[0].hyper.momentum;
            const at::Tensor before = w;
            if (is("steps_first_group_value_only") && index > 1) continue;
            if (is("rate_by_number_of_groups")) hyper.lr /= static_cast<double>(groups.size());
            if (is("rate_by_place")) hyper.lr /= static_cast<double>(index);
            if (is("clips_each_parameter"))
                ratio = std::min(1.0, params.max_grad_norm / g.norm().item<double>());
            update(hyper, hyper.lr * factor, moments_.at(parameter.name), w, g * ratio);
            spoil_update(before, g, w);
            if (!is("skips_last_value") || w.numel() < 4000)
                write(parameter, w);
            else
                parameter.value.narrow(0, 0, w.numel() - 1).copy_(w.narrow(0, 0, w.numel() - 1));
        }
    }
    spoil(groups, params);
    if (!is("not_counted")) executed(is("runs_other_variant") ? "first" : variant_);
    return result;
}

OptimizerState OptimizerSample::state() const {
    OptimizerState state{formula_name(request_), step_, {}};
    if (is("state_of_another_name")) state.algorithm = "adagrad";
    for (const std::string& parameter : order_) {
        const Moments& moments = moments_.at(parameter);
        state.entries.push_back({parameter, first_key(), moments.first});
        if (has_second() && !is("forgets_second_moment"))
            state.entries.push_back({parameter, "exp_avg_sq", moments.second});
    }
    return state;
}

void OptimizerSample::load(const OptimizerState& state) {
    if (state.algorithm != this->state().algorithm) throw std::invalid_argument("algorithm");
    if (is("load_half_then_throws")) step_ = state.step;
    std::map<std::string, Moments> loaded;
    if (is("forgets_second_moment")) loaded = moments_;
    for (const OptimizerStateEntry& entry : state.entries) {
        const auto own = moments_.find(entry.parameter);
        if (own == moments_.end()) throw std::invalid_argument("extra " + entry.parameter);
        if (own->second.first.sizes() != entry.value.sizes())
            throw std::invalid_argument("shape of " + entry.parameter);
        Moments& mine = loaded[entry.parameter];
        (entry.key == first_key() ? mine.first : mine.second) = entry.value.clone();
    }
    for (const std::string& parameter : order_) {
        Moments& mine = loaded[parameter];
        const bool whole = mine.first.defined() && mine.second.defined() == has_second();
        if (!whole && !is("load_takes_part")) throw std::invalid_argument("missing " + parameter);
        if (!whole) mine = moments_.at(parameter);
    }
    moments_ = loaded;
    step_ = is("load_forgets_step") ? 0 : state.step;
}

}  // namespace

const LocalComponent optimizer_entry = [] {
    auto made = local_component<Kind::optimizer, OptimizerSample>(GradientMode::none, RandomSource::none,
                                                                  {"first", "second"});
    made.manifest.custom = {"sample"};
    return made;
}();

}  // namespace switchyard::test
