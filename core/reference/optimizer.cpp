#include <switchyard/reference/optimizer.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>

#include <switchyard/reference/numeric.h>

namespace switchyard::reference {
namespace {

[[noreturn]] void invalid(const std::string& text) { throw std::invalid_argument("optimizer: " + text); }

bool is_matrix(OptimizerKind algorithm, const at::Tensor& value) {
    return algorithm == OptimizerKind::muon && value.dim() >= 2;
}

std::vector<std::string> state_keys(OptimizerKind algorithm, const Parameter& parameter,
                                    const HyperParameters& hyper) {
    if (is_matrix(algorithm, parameter.value)) return {"momentum_buffer"};
    switch (algorithm) {
        case OptimizerKind::sgd:
            return hyper.momentum != 0.0 ? std::vector<std::string>{"momentum_buffer"}
                                         : std::vector<std::string>{};
        case OptimizerKind::lion:
            return {"exp_avg"};
        default:
            return {"exp_avg", "exp_avg_sq"};
    }
}

void check_parameter(const Parameter& parameter) {
    const std::string who = "parameter '" + parameter.name + "' ";
    if (!parameter.value.defined()) invalid(who + "has no value");
    if (parameter.value.is_sparse()) invalid(who + "is sparse");
    if (!parameter.value.is_floating_point()) invalid(who + "is not of a floating dtype");
}

void check_gradient(const Parameter& parameter) {
    if (!parameter.gradient.defined()) return;
    const std::string who = "the gradient of '" + parameter.name + "' ";
    if (parameter.gradient.is_sparse()) invalid(who + "is sparse");
    if (parameter.gradient.sizes() != parameter.value.sizes()) {
        std::ostringstream text;
        text << who << "has shape " << parameter.gradient.sizes() << ", its value "
             << parameter.value.sizes();
        invalid(text.str());
    }
}

// Unscaled and wide, in the order of the parameters; undefined where there is none.
std::vector<at::Tensor> unscaled(const std::vector<ParameterGroup>& groups, const StepParams& params) {
    const double scale =
        params.grad_scale_tensor.defined() ? params.grad_scale_tensor.item<double>() : params.grad_scale;
    std::vector<at::Tensor> gradients;
    for (const ParameterGroup& group : groups) {
        for (const Parameter& parameter : group.parameters) {
            check_gradient(parameter);
            at::Tensor g;
            if (parameter.gradient.defined()) {
                const at::Tensor& w = parameter.master.defined() ? parameter.master : parameter.value;
                g = parameter.gradient.to(wide_type(w.scalar_type())) / scale;
            }
            gradients.push_back(g);
        }
    }
    return gradients;
}

StepResult result_of(double norm, bool finite, const std::vector<at::Tensor>& gradients) {
    at::Device device(at::kCPU);
    for (const at::Tensor& g : gradients)
        if (g.defined()) device = g.device();
    const at::TensorOptions scalar = at::TensorOptions().dtype(at::kFloat).device(device);
    return {at::scalar_tensor(norm, scalar), at::scalar_tensor(finite ? 0.0 : 1.0, scalar)};
}

// One parameter's step: w and g in the wide dtype, w updated in place.
struct Update {
    const HyperParameters& hyper;
    double lr;
    double step;
    at::Tensor w, g;
    ParameterState& state;

    at::Tensor& buffer(const char* key) const { return state.at(key); }

    // m^ / (sqrt(v^) + eps) after taking g in.
    at::Tensor adam_direction() const {
        at::Tensor& m = buffer("exp_avg");
        at::Tensor& v = buffer("exp_avg_sq");
        m.mul_(hyper.beta1).add_(g, 1.0 - hyper.beta1);
        v.mul_(hyper.beta2).addcmul_(g, g, 1.0 - hyper.beta2);
        const double correction1 = 1.0 - std::pow(hyper.beta1, step);
        const double correction2 = 1.0 - std::pow(hyper.beta2, step);
        return (m / correction1) / (v.sqrt() / std::sqrt(correction2) + hyper.eps);
    }
    void decay() const { w.mul_(1.0 - lr * hyper.weight_decay); }

    void adamw() const {
        decay();
        w.add_(adam_direction(), -lr);
    }
    void adam() {
        if (hyper.weight_decay != 0.0) g = g + w * hyper.weight_decay;
        w.add_(adam_direction(), -lr);
    }
    void sgd() {
        if (hyper.weight_decay != 0.0) g = g + w * hyper.weight_decay;
        if (hyper.momentum != 0.0) {
            at::Tensor& momentum = buffer("momentum_buffer");
            momentum.mul_(hyper.momentum).add_(g);
            g = hyper.nesterov ? g + momentum * hyper.momentum : momentum;
        }
        w.add_(g, -lr);
    }
    void lion() const {
        at::Tensor& m = buffer("exp_avg");
        decay();
        w.add_((m * hyper.beta1 + g * (1.0 - hyper.beta1)).sign(), -lr);
        m.mul_(hyper.beta2).add_(g, 1.0 - hyper.beta2);
    }
    void lamb() const {
        const at::Tensor direction = adam_direction() + w * hyper.weight_decay;
        const double w_norm = w.norm().item<double>();
        const double direction_norm = direction.norm().item<double>();
        const double trust = w_norm > 0.0 && direction_norm > 0.0 ? w_norm / direction_norm : 1.0;
        w.add_(direction, -lr * trust);
    }
    void muon() const {
        at::Tensor& momentum = buffer("momentum_buffer");
        momentum.mul_(hyper.momentum).add_(g, 1.0 - hyper.momentum);
        const at::Tensor direction =
            hyper.nesterov ? g * (1.0 - hyper.momentum) + momentum * hyper.momentum : momentum;
        const at::Tensor matrix = direction.reshape({direction.size(0), -1});
        if (matrix.numel() == 0) return;
        const double shape = std::sqrt(
            std::max(1.0, static_cast<double>(matrix.size(0)) / static_cast<double>(matrix.size(1))));
        decay();
        w.add_(newton_schulz(matrix).view_as(w), -lr * shape);
    }
    void apply(OptimizerKind algorithm) {
        switch (algorithm) {
            case OptimizerKind::adamw:
                return adamw();
            case OptimizerKind::adam:
                return adam();
            case OptimizerKind::sgd:
                return sgd();
            case OptimizerKind::lion:
                return lion();
            case OptimizerKind::lamb:
                return lamb();
            case OptimizerKind::muon:
                return w.dim() >= 2 ? muon() : adamw();
            case OptimizerKind::custom:
                break;
        }
        throw std::invalid_argument("the reference knows no custom algorithm");
    }
};

}  // namespace

at::Tensor newton_schulz(const at::Tensor& matrix) {
    constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
    const bool tall = matrix.size(0) > matrix.size(1);
    at::Tensor x = tall ? matrix.t() : matrix;
    x = x / x.norm().clamp_min(1e-7);
    for (int i = 0; i < 5; ++i) {
        const at::Tensor gram = x.matmul(x.t());
        x = x * a + (gram * b + gram.matmul(gram) * c).matmul(x);
    }
    return tall ? x.t() : x;
}

void OptimizerSteps::bind(const std::vector<ParameterGroup>& groups) {
    std::set<std::string> names;
    for (const ParameterGroup& group : groups) {
        if (group.parameters.empty()) invalid("group '" + group.name + "' has no parameters");
        for (const Parameter& parameter : group.parameters) {
            check_parameter(parameter);
            if (!names.insert(parameter.name).second)
                invalid("two parameters are called '" + parameter.name + "'");
        }
    }
    step_ = 0;
    order_.clear();
    states_.clear();
    for (const ParameterGroup& group : groups) {
        for (const Parameter& parameter : group.parameters) {
            order_.push_back(parameter.name);
            ParameterState& state = states_[parameter.name];
            const at::Tensor& like = parameter.master.defined() ? parameter.master : parameter.value;
            for (const std::string& key : state_keys(algorithm_, parameter, group.hyper)) {
                state[key] = like.new_zeros(like.sizes(), wide_type(like.scalar_type()));
            }
        }
    }
}

StepResult OptimizerSteps::step(std::vector<ParameterGroup>& groups, const StepParams& params) {
    const at::NoGradGuard no_grad;
    const auto gradients = unscaled(groups, params);
    std::vector<at::Tensor> norms;
    bool finite = true;
    for (const at::Tensor& g : gradients) {
        if (!g.defined()) continue;
        finite = finite && g.isfinite().all().item<bool>();
        norms.push_back(g.norm());
    }
    const double norm = norms.empty() ? 0.0 : at::stack(norms).norm().item<double>();
    if (finite) apply(groups, params, norm, gradients);
    return result_of(norm, finite, gradients);
}

StepResult OptimizerSteps::step_parts(std::vector<ParameterGroup>& groups, const StepParams& params,
                                      double grad_norm) {
    const at::NoGradGuard no_grad;
    const auto gradients = unscaled(groups, params);
    apply(groups, params, grad_norm, gradients);
    return result_of(grad_norm, true, gradients);
}

void OptimizerSteps::apply(std::vector<ParameterGroup>& groups, const StepParams& params, double norm,
                           const std::vector<at::Tensor>& gradients) {
    const double lr_factor = params.lr_factor_tensor.defined() ? params.lr_factor_tensor.item<double>() : 1.0;
    const double clip =
        params.max_grad_norm > 0.0 ? std::min(1.0, params.max_grad_norm / (norm + 1e-6)) : 1.0;
    ++step_;
    std::size_t index = 0;
    for (ParameterGroup& group : groups) {
        for (Parameter& parameter : group.parameters) {
            const at::Tensor g = gradients[index++];
            if (!g.defined()) continue;
            const at::Tensor& target = parameter.master.defined() ? parameter.master : parameter.value;
            Update update{group.hyper, group.hyper.lr * lr_factor, static_cast<double>(step_), wide(target),
                          g * clip,    states_.at(parameter.name)};
            update.apply(algorithm_);
            if (!update.w.is_same(target)) target.copy_(update.w);
            if (parameter.master.defined()) parameter.value.copy_(target);
        }
    }
}

OptimizerState OptimizerSteps::state() const {
    OptimizerState result{std::string(name(algorithm_)), step_, {}};
    for (const std::string& parameter : order_) {
        for (const auto& [key, value] : states_.at(parameter))
            result.entries.push_back({parameter, key, value});
    }
    return result;
}

void OptimizerSteps::load(const OptimizerState& state) {
    if (state.algorithm != name(algorithm_)) {
        invalid("the state is of '" + state.algorithm + "', this optimizer is '" +
                std::string(name(algorithm_)) + "'");
    }
    std::map<std::string, ParameterState> loaded;
    for (const OptimizerStateEntry& entry : state.entries) {
        const std::string who = "state entry '" + entry.key + "' of '" + entry.parameter + "' ";
        const auto owner = states_.find(entry.parameter);
        if (owner == states_.end() || owner->second.count(entry.key) == 0)
            invalid(who + "belongs to no parameter here");
        const at::Tensor& own = owner->second.at(entry.key);
        if (entry.value.sizes() != own.sizes()) {
            std::ostringstream text;
            text << who << "has shape " << entry.value.sizes() << ", expected " << own.sizes();
            invalid(text.str());
        }
        loaded[entry.parameter][entry.key] = entry.value.to(own.options()).clone();
    }
    for (const auto& [parameter, own] : states_) {
        ParameterState& mine = loaded[parameter];
        for (const auto& [key, value] : own) {
            if (mine.count(key) == 0) invalid("state entry '" + key + "' of '" + parameter + "' is missing");
        }
    }
    states_ = std::move(loaded);
    step_ = state.step;
}

}  // namespace switchyard::reference
