#include "core/workbench/train/pipeline_step.h"

#include <string>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include "core/kernel/runtime/backward_from.h"
#include "core/kernel/runtime/call_timer.h"
#include "core/workbench/model/pipeline_stage.h"

namespace switchyard::train {
namespace {

using distributed::Transfer;
using model::StageAct;
using model::StageState;

std::vector<at::Tensor> tensors_of(const StageState& state) {
    std::vector<at::Tensor> tensors;
    for (const auto& one : {state.hidden, state.memory})
        if (one.defined()) tensors.push_back(one);
    return tensors;
}

// Of several tensors.
class Transfers final : public Transfer {
public:
    explicit Transfers(std::vector<std::unique_ptr<Transfer>> all) : all_(std::move(all)) {}
    void wait() override {
        for (const auto& one : all_) one->wait();
    }

private:
    std::vector<std::unique_ptr<Transfer>> all_;
};

std::unique_ptr<Transfer> begin_sends(distributed::Group& group, const std::vector<at::Tensor>& tensors,
                                      std::int64_t to) {
    std::vector<std::unique_ptr<Transfer>> sends;
    for (const auto& one : tensors) sends.push_back(group.begin_send(one.detach(), to));
    return std::make_unique<Transfers>(std::move(sends));
}

}  // namespace

PipelineStep::PipelineStep(const ModelParts& parts, const config::Config& config, const model::Model& model,
                           const model::Parameters& parameters)
    : stage_(config),
      schedule_(config.distributed.schedule),
      model_(model),
      stages_(*parts.mesh().pipeline()) {
    const auto& mesh = parts.mesh();
    const auto name = " " + std::to_string(mesh.data_index()) + " " +
                      std::to_string(mesh.tensor_index_of(mesh.world().rank()));
    std::vector<std::int64_t> all;
    for (std::int64_t stage = 0; stage < mesh.stages(); ++stage) all.push_back(stage);
    back_ = stages_.among(all, "gradients of stages" + name);
    for (const auto& [parameter, sizes, stages] : parts.all()) {
        const auto* const own = parameters.find(parameter);
        if (stages.size() == 1 || own == nullptr || !own->value.requires_grad()) continue;
        auto& ranks = some_[stages];
        if (!ranks) ranks = stages_.among(stages, "stages with " + parameter + name);
        shared_.push_back({own->value, ranks.get()});
    }
}

// Tensors of this step's micro-batches, as long as they are needed.
struct PipelineStep::Kept {
    StageState taken, made;
    at::Tensor loss;  // of the last stage, scaled
    std::vector<at::Tensor> gradients;
    std::unique_ptr<Transfer> sent;
};

StageState PipelineStep::receive_forward(Phase phase, const Batch& batch) {
    auto taken = model_.taken_in(phase, batch);
    for (auto* const one : {&taken.hidden, &taken.memory})
        if (one->defined()) stages_.receive(*one, stages_.rank() - 1);
    return taken;
}

class PipelineStep::Step {
public:
    Step(PipelineStep& stage, const model::ForwardContext& context, const std::vector<Batch>& batches,
         const LossParams& loss, double scale, const RunBackward& run)
        : stage_(stage),
          context_(context),
          batches_(batches),
          loss_(loss),
          scale_(scale),
          run_(run),
          kept_(batches.size()) {}

    double make() {
        const auto count = static_cast<std::int64_t>(batches_.size());
        const auto ops =
            model::stage_ops(stage_.schedule_, stage_.stages_.rank(), stage_.stages_.world_size(), count);
        for (const auto& op : ops) act(op);
        if (sent_back_) sent_back_->wait();
        return sum_;
    }

private:
    void act(const model::StageOp& op) {
        const auto number = static_cast<std::size_t>(op.micro_batch);
        auto& kept = kept_[number];
        const auto own = stage_.stages_.rank();
        switch (op.act) {
            case StageAct::receive_forward: {
                const runtime::TimedScope timed("forward");
                kept.taken = stage_.receive_forward(context_.phase, batches_[number]);
                for (auto& one : tensors_of(kept.taken)) one.set_requires_grad(true);
                return;
            }
            case StageAct::forward:
                return forward(kept, batches_[number]);
            case StageAct::send_forward:
                kept.sent = begin_sends(stage_.stages_, tensors_of(kept.made), own + 1);
                return;
            case StageAct::receive_backward: {
                const runtime::TimedScope timed("backward");
                for (const auto& one : tensors_of(kept.made)) {
                    kept.gradients.push_back(at::empty_like(one, one.options().requires_grad(false)));
                    stage_.back_->receive(kept.gradients.back(), own + 1);
                }
                kept.sent->wait();
                return;
            }
            case StageAct::backward:
                return backward(kept);
            case StageAct::send_backward:
                return send_backward(kept, own - 1);
        }
    }

    void forward(Kept& kept, const Batch& batch) {
        const runtime::TimedScope timed("forward");
        kept.made = stage_.model_.run(kept.taken, context_, batch);
        if (!stage_.stage_.is_last()) return;
        const auto task = stage_.model_.task_of(context_, batch, kept.made.hidden, loss_);
        kept.made = {};
        sum_ += task.loss.loss.item<double>();
        kept.loss = scale_ == 1.0 ? task.loss.loss : task.loss.loss.mul(scale_);
    }
    void backward(Kept& kept) {
        const bool last = ++backwards_ == batches_.size();
        if (kept.loss.defined())
            run_([&] { kept.loss.backward(); }, last);
        else
            run_([&] { runtime::backward_from(tensors_of(kept.made), kept.gradients); }, last);
        kept.made = {};
        kept.loss.reset();
        kept.gradients.clear();
    }
    void send_backward(Kept& kept, std::int64_t to) {
        std::vector<at::Tensor> gradients;
        for (const auto& one : tensors_of(kept.taken))
            gradients.push_back(one.grad().defined() ? one.grad() : at::zeros_like(one.detach()));
        if (sent_back_) sent_back_->wait();
        sent_back_ = begin_sends(*stage_.back_, gradients, to);
        kept = {};
    }

    PipelineStep& stage_;
    const model::ForwardContext& context_;
    const std::vector<Batch>& batches_;
    const LossParams& loss_;
    double scale_;
    const RunBackward& run_;
    std::vector<Kept> kept_;
    std::unique_ptr<Transfer> sent_back_;
    std::size_t backwards_ = 0;
    double sum_ = 0.0;
};

double PipelineStep::run(const model::ForwardContext& context, const std::vector<Batch>& batches,
                         const LossParams& loss, double scale, const RunBackward& backward) {
    const double sum = Step(*this, context, batches, loss, scale, backward).make();
    sum_shared();
    return sum;
}

void PipelineStep::sum_shared() {
    const at::NoGradGuard no_grad;
    for (auto& [parameter, ranks] : shared_) {
        if (!parameter.grad().defined()) parameter.mutable_grad() = at::zeros_like(parameter.detach());
        ranks->sum(parameter.mutable_grad());
    }
}

at::Tensor PipelineStep::hidden(const model::ForwardContext& context, const Batch& batch) {
    const auto taken = receive_forward(context.phase, batch);
    const auto made = model_.run(taken, context, batch);
    if (stage_.is_last()) return made.hidden;
    end_forwards();
    sent_ = begin_sends(stages_, tensors_of(made), stages_.rank() + 1);
    return {};
}

std::optional<model::TaskResult> PipelineStep::forward(const model::ForwardContext& context,
                                                       const Batch& batch, const LossParams& loss) {
    const auto last = hidden(context, batch);
    if (!last.defined()) return std::nullopt;
    return model_.task_of(context, batch, last, loss);
}

void PipelineStep::end_forwards() {
    if (sent_) sent_->wait();
    sent_.reset();
}

}  // namespace switchyard::train
