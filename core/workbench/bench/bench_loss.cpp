// Cross-entropy on given logits (bound by memory), or with the output projection (bound by its products).
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>

#include <switchyard/reference/loss.h>
#include "core/kernel/runtime/operations/bind.h"
#include "core/kernel/runtime/operations/loss_op.h"
#include "core/workbench/bench/bench_tensors.h"

namespace switchyard::bench {

namespace {

// Calls that may spoil their logits: those that are timed go on with what the one before left of a copy,
// since no kernel's time depends on values, and a call that is checked has a copy of its own.
class InPlaceContender final : public Contender {
public:
    using MakeCall = std::function<TensorCall(const runtime::LossOp& operation)>;

    InPlaceContender(runtime::LossOp operation, MakeCall make)
        : operation_(std::move(operation)), make_(std::move(make)), call_(make_(operation_)) {}

    void run() override { call_.run(); }
    CheckedTensors results(bool /*dropout*/) override { return make_(operation_).results({"loss"}); }
    const runtime::BindingBase& binding() const override { return operation_.binding(); }

private:
    runtime::LossOp operation_;
    MakeCall make_;
    TensorCall call_;
};

class LossCase final : public BenchCase {
public:
    LossCase(const BenchSettings& settings, const BenchShape& shape, DType dtype)
        : settings_(settings),
          rows_(shape.rows),
          classes_(shape.classes),
          width_(shape.width),
          dtype_(dtype) {
        const bool projection = width_ > 0;
        inputs_ = {{"x", random_normal({rows_, projection ? width_ : classes_}, dtype, settings.seed, 0)},
                   {"weight", projection ? random_normal({classes_, width_}, dtype, settings.seed, 1, 0.05)
                                         : at::Tensor()},
                   {"bias", settings.projection_bias ? random_normal({classes_}, dtype, settings.seed, 3)
                                                     : at::Tensor()}};
        targets_ = random_integers({rows_}, classes_, settings.seed, 2);
        grad_outputs_ = {at::ones({}, at::kFloat)};
        params_.label_smoothing = settings.label_smoothing;
        params_.z_loss = settings.z_loss;
        params_.may_overwrite_logits = settings.in_place;
    }

    resolver::SlotUse use(Pass pass) const override {
        auto request = std::make_shared<LossRequest>();
        fill_request(*request, settings_, dtype_, pass);
        request->rows = rows_;
        request->classes = classes_;
        request->width = width_;
        request->projection = width_ > 0;
        request->projection_bias = settings_.projection_bias;
        request->label_smoothing = settings_.label_smoothing;
        request->z_loss = settings_.z_loss;
        request->may_overwrite_logits = settings_.in_place;
        return bench_use(Kind::loss, request);
    }

    // Logits: read once, their gradients written once. With the projection: its product, and two of the same
    // size for its gradients.
    Work work(Pass pass) const override {
        const bool backward = pass == Pass::forward_backward;
        const auto size = static_cast<double>(size_of(dtype_));
        const auto logits = static_cast<double>(rows_) * static_cast<double>(classes_);
        if (width_ == 0) return {0.0, logits * size * (backward ? 2.0 : 1.0), true};
        const auto operands =
            static_cast<double>(rows_ * width_) + static_cast<double>(classes_) * static_cast<double>(width_);
        return {2.0 * logits * static_cast<double>(width_) * (backward ? 3.0 : 1.0),
                operands * size * (backward ? 2.0 : 1.0), false};
    }

    std::unique_ptr<Contender> bind(const resolver::PlanRow& row, runtime::Registry& registry,
                                    const HostInfo& host, Pass pass) override {
        using runtime::LossOp;
        const auto call = [this, pass](const LossOp& operation, const std::vector<NamedInput>& inputs) {
            return TensorCall(
                [operation, params = params_,
                 targets = on_device(targets_, settings_.device)](const std::vector<at::Tensor>& in) {
                    return std::vector<at::Tensor>{operation({in[0], in[1], in[2], targets}, params).loss};
                },
                inputs, grad_outputs_, pass, settings_.device);
        };
        auto operation = runtime::bind<LossOp>(row, registry, host);
        if (settings_.in_place) {
            return std::make_unique<InPlaceContender>(std::move(operation), [this, call](const LossOp& op) {
                std::vector<NamedInput> own = inputs_;
                own.front().value = own.front().value.clone();
                return call(op, own);
            });
        }
        const auto make = [this, call](const LossOp& op, bool /*dropout*/) { return call(op, inputs_); };
        return std::make_unique<OperationContender<LossOp>>(std::move(operation), make,
                                                            std::vector<std::string>{"loss"});
    }

    CheckedTensors reference(Pass pass, DType dtype, bool /*dropout*/) override {
        const TensorFunction function = [params = params_,
                                         targets = targets_](const std::vector<at::Tensor>& in) {
            return std::vector<at::Tensor>{reference::loss({in[0], in[1], in[2], targets}, params).loss};
        };
        return TensorCall(function, in_dtype(inputs_, dtype_, dtype), grad_outputs_, pass).results({"loss"});
    }

    std::function<void()> bare(Pass pass) override {
        if (settings_.z_loss > 0.0 || settings_.projection_bias) return {};
        const TensorFunction function =
            [targets = targets_, smoothing = settings_.label_smoothing](const std::vector<at::Tensor>& in) {
                const at::Tensor logits = in[1].defined() ? at::linear(in[0], in[1]) : in[0];
                return std::vector<at::Tensor>{
                    at::cross_entropy_loss(logits, targets, {}, at::Reduction::Mean, -100, smoothing)};
            };
        return [call = TensorCall(function, inputs_, grad_outputs_, pass)] { call.run(); };
    }

private:
    BenchSettings settings_;
    std::int64_t rows_, classes_, width_;
    DType dtype_;
    LossParams params_;
    at::Tensor targets_;
    std::vector<NamedInput> inputs_;
    std::vector<at::Tensor> grad_outputs_;
};

}  // namespace

std::unique_ptr<BenchCase> case_of(KindTraits<Kind::loss>, const BenchSettings& settings,
                                   const BenchShape& shape, DType dtype) {
    return std::make_unique<LossCase>(settings, shape, dtype);
}

}  // namespace switchyard::bench
