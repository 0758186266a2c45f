// Optimizer steps: bound by memory. Every contender has parameters, gradients and state of its own.
#include <array>
#include <cmath>

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/optimizer.h>
#include "core/kernel/runtime/operations/bind.h"
#include "core/kernel/runtime/operations/optimizer_op.h"
#include "core/workbench/bench/bench_tensors.h"

namespace switchyard::bench {

namespace {

constexpr int checked_steps = 3;
constexpr std::int64_t checked_values_of_tensor = 4096;
constexpr std::int64_t checked_values_of_matrices = std::int64_t{1} << 20;

using Groups = std::vector<ParameterGroup>;

// LAMB and Muon look at whole tensors; the others at one value at a time.
bool elementwise(OptimizerKind algorithm) {
    return algorithm != OptimizerKind::lamb && algorithm != OptimizerKind::muon;
}

// What of the tensors is checked: the end of each where that is enough, else the smallest as a whole.
class CheckedPart {
public:
    CheckedPart(OptimizerKind algorithm, const BenchShape& shape)
        : ends_(elementwise(algorithm)), taken_(shape.tensors.size(), ends_) {
        if (ends_) return;
        std::vector<std::pair<std::int64_t, std::size_t>> by_size;
        for (std::size_t i = 0; i < shape.tensors.size(); ++i)
            by_size.emplace_back(c10::multiply_integers(shape.tensors[i]), i);
        std::sort(by_size.begin(), by_size.end());
        std::int64_t values = 0;
        for (const auto& [size, index] : by_size) {
            if (values > 0 && values + size > checked_values_of_matrices) break;
            values += size;
            taken_[index] = true;
        }
    }

    bool takes(std::size_t tensor) const { return taken_[tensor]; }

    at::Tensor of(const at::Tensor& tensor) const {
        if (!ends_) return tensor.clone();
        const at::Tensor flat = tensor.flatten();
        const std::int64_t count = std::min(flat.numel(), checked_values_of_tensor);
        return flat.narrow(0, flat.numel() - count, count).clone();
    }

    std::string text() const {
        if (ends_) return "the last " + std::to_string(checked_values_of_tensor) + " values of each tensor";
        const auto count = std::count(taken_.begin(), taken_.end(), true);
        return std::to_string(count) + " of " + std::to_string(taken_.size()) + " tensors";
    }

private:
    bool ends_;
    std::vector<bool> taken_;
};

class OptimizerContender final : public Contender {
public:
    // `given`, with the gradients, and `part` outlive it.
    OptimizerContender(runtime::OptimizerOp operation, Groups groups, const ParameterGroup& given,
                       const StepParams& params, const CheckedPart& part)
        : operation_(std::move(operation)),
          groups_(std::move(groups)),
          given_(given),
          params_(params),
          part_(part) {
        operation_.bind(groups_);
    }

    void run() override { operation_.step(groups_, params_); }

    // The first steps, before anything is timed, each with fresh gradients: clipping may have changed them.
    CheckedTensors results(bool /*dropout*/) override {
        auto& parameters = groups_.front().parameters;
        for (int step = 0; step < checked_steps; ++step) {
            const c10::NoGradGuard no_grad;
            for (std::size_t i = 0; i < parameters.size(); ++i)
                parameters[i].gradient.copy_(given_.parameters[i].gradient);
            run();
        }
        CheckedTensors checked;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            if (part_.takes(i))
                checked.push_back({parameters[i].name, part_.of(parameters[i].value).cpu(), false});
        }
        return checked;
    }

    const runtime::BindingBase& binding() const override { return operation_.binding(); }

    std::int64_t state_bytes() override {
        std::int64_t bytes = 0;
        for (const auto& entry : operation_.state().entries)
            bytes += static_cast<std::int64_t>(entry.value.nbytes());
        return bytes;
    }

private:
    runtime::OptimizerOp operation_;
    Groups groups_;
    const ParameterGroup& given_;
    StepParams params_;
    const CheckedPart& part_;
};

class OptimizerCase final : public BenchCase {
public:
    OptimizerCase(const BenchSettings& settings, const BenchShape& shape, DType dtype)
        : settings_(settings), dtype_(dtype), part_(settings.algorithm, shape) {
        group_.name = "all";
        group_.hyper.weight_decay = 0.01;
        group_.hyper.momentum = 0.9;
        for (std::size_t i = 0; i < shape.tensors.size(); ++i) {
            const auto stream = static_cast<std::uint32_t>(2 * i);
            Parameter parameter;
            parameter.name =
                shape.is_embedding(i) ? "embeddings." + std::to_string(i) : "tensor." + std::to_string(i);
            parameter.value = random_normal(shape.tensors[i], dtype, settings.seed, stream, 0.02);
            parameter.gradient = random_normal(shape.tensors[i], dtype, settings.seed, stream + 1, 0.01);
            group_.parameters.push_back(std::move(parameter));
            values_ += c10::multiply_integers(shape.tensors[i]);
        }
        params_.max_grad_norm = settings.max_grad_norm;
    }

    resolver::SlotUse use(Pass pass) const override {
        auto request = std::make_shared<OptimizerRequest>();
        fill_request(*request, settings_, dtype_, pass);
        request->phase = Phase::train;
        request->algorithm = settings_.algorithm;
        request->gradient_dtype = dtype_;
        request->master_weights = master_weights_;
        request->clip = settings_.max_grad_norm > 0.0;
        request->unscale = settings_.unscale;
        request->parameters = values_;
        request->tensors = static_cast<std::int64_t>(group_.parameters.size());
        return bench_use(Kind::optimizer, request);
    }

    // Reads gradient and value, writes the value; master weights are float32. Clipping has to read the
    // gradients once before. The state is the contender's.
    Work work(Pass /*pass*/) const override {
        const double narrow = static_cast<double>(size_of(dtype_));
        const double gradients = narrow * (settings_.max_grad_norm > 0.0 ? 2.0 : 1.0);
        const double values = master_weights_ ? narrow + 8.0 : 2.0 * narrow;
        return {0.0, static_cast<double>(values_) * (gradients + values), true};
    }

    std::unique_ptr<Contender> bind(const resolver::PlanRow& row, runtime::Registry& registry,
                                    const HostInfo& host, Pass /*pass*/) override {
        return std::make_unique<OptimizerContender>(runtime::bind<runtime::OptimizerOp>(row, registry, host),
                                                    Groups{copy(settings_.device)}, group_, params_, part_);
    }

    CheckedTensors reference(Pass /*pass*/, DType dtype, bool /*dropout*/) override {
        const c10::NoGradGuard no_grad;
        Groups groups{{group_.name, group_.hyper, {}}};
        for (std::size_t i = 0; i < group_.parameters.size(); ++i) {
            if (!part_.takes(i)) continue;
            const Parameter& whole = group_.parameters[i];
            Parameter part;
            part.name = whole.name;
            part.value = in_dtype(part_.of(whole.value), dtype_, dtype);
            part.gradient = in_dtype(part_.of(whole.gradient), dtype_, dtype);
            if (settings_.max_grad_norm > 0.0) part.gradient.mul_(clip_factor(dtype));
            if (master_weights_)
                part.master = part.value.to(dtype == DType::float64 ? at::kDouble : at::kFloat, false, true);
            groups.front().parameters.push_back(std::move(part));
        }
        reference::OptimizerSteps steps(settings_.algorithm);
        steps.bind(groups);
        for (int step = 0; step < checked_steps; ++step) steps.step(groups, {});
        CheckedTensors checked;
        for (const Parameter& parameter : groups.front().parameters)
            checked.push_back({parameter.name, parameter.value, false});
        return checked;
    }

    std::string checked_part() const override { return part_.text(); }

    std::function<void()> bare(Pass /*pass*/) override {
        if (settings_.algorithm != OptimizerKind::adamw || settings_.max_grad_norm > 0.0 || master_weights_)
            return {};
        std::vector<at::Tensor> values, gradients, first, second, counts;
        for (const Parameter& parameter : copy().parameters) {
            values.push_back(parameter.value);
            gradients.push_back(parameter.gradient);
            first.push_back(at::zeros_like(parameter.value));
            second.push_back(at::zeros_like(parameter.value));
            counts.push_back(at::zeros({}, at::dtype(at::kFloat)));
        }
        return [=, hyper = group_.hyper] {
            const c10::NoGradGuard no_grad;
            for (const at::Tensor& count : counts) count.add_(1);
            at::_fused_adamw_(values, gradients, first, second, {}, counts, hyper.lr, hyper.beta1,
                              hyper.beta2, hyper.weight_decay, hyper.eps, false, false);
        };
    }

private:
    ParameterGroup copy(Device device = Device::cpu) const {
        ParameterGroup group = group_;
        for (Parameter& parameter : group.parameters) {
            parameter.value = on_device(parameter.value.clone(), device);
            parameter.gradient = on_device(parameter.gradient.clone(), device);
            if (master_weights_) parameter.master = parameter.value.to(at::kFloat, false, true);
        }
        return group;
    }

    // By norms that are taken in `dtype`, or in float32 where that is narrower: those of large tensors are
    // off in the fourth digit there.
    double clip_factor(DType dtype) {
        const auto type = dtype == DType::float64 ? at::kDouble : at::kFloat;
        auto& factor = clip_factor_[dtype == DType::float64];
        if (!factor) {
            double squares = 0.0;
            for (const Parameter& parameter : group_.parameters)
                squares += std::pow(at::norm(parameter.gradient.to(type)).item<double>(), 2);
            factor = std::min(1.0, settings_.max_grad_norm / (std::sqrt(squares) + 1e-6));
        }
        return *factor;
    }

    BenchSettings settings_;
    DType dtype_;
    bool master_weights_ = size_of(dtype_) < 4;  // narrow parameters have float32 copies, as in training
    CheckedPart part_;
    ParameterGroup group_;
    StepParams params_;
    std::int64_t values_ = 0;
    std::array<std::optional<double>, 2> clip_factor_;
};

}  // namespace

std::unique_ptr<BenchCase> case_of(KindTraits<Kind::optimizer>, const BenchSettings& settings,
                                   const BenchShape& shape, DType dtype) {
    return std::make_unique<OptimizerCase>(settings, shape, dtype);
}

std::unique_ptr<BenchCase> make_case(const BenchSettings& settings, const BenchShape& shape, DType dtype) {
    return visit(settings.kind, [&]<class Traits>(Traits traits) -> std::unique_ptr<BenchCase> {
        if constexpr (Traits::facts.measured)
            return case_of(traits, settings, shape, dtype);
        else
            throw std::invalid_argument("no bench for " + std::string(name(settings.kind)));
    });
}

}  // namespace switchyard::bench
