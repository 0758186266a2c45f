#include "core/workbench/train/shadow/shadow.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/kernel/runtime/call_observer.h"
#include "core/kernel/runtime/operations/bind.h"

namespace switchyard::train {

struct Shadow::Slot {
    ShadowLine line;  // of this step
    runtime::Operation trusted, candidate;
    bool without_dropout = false;
    bool on = false;  // has its turn
    std::int64_t seen = 0;
};

namespace {

// What kinds with dropout have in common.
template <class InputsOfKind, class ParamsOfKind>
struct WithDropout {
    using Inputs = InputsOfKind;
    using Params = ParamsOfKind;
    static Params call_params(const Params& params) { return params; }
    static bool may_overwrite(const Inputs&, const Params&) { return false; }
    static void drop_nothing(Params& params) { params.dropout = {}; }
};

// What is to be known of a kind here: names and places of its tensors, in their order.
struct AttentionTraits : WithDropout<AttentionInputs, AttentionParams> {
    using Op = runtime::AttentionOp;
    using Outputs = AttentionOutputs;
    static constexpr std::array inputs{"q", "k", "v", "relative_bias", "dense_bias"};
    static constexpr std::array outputs{"out", "lse"};
    static TensorList list(const Inputs& in) { return {in.q, in.k, in.v, in.relative_bias, in.dense_bias}; }
    static Inputs inputs_of(const TensorList& l) { return {l[0], l[1], l[2], l[3], l[4]}; }
    static TensorList list(const Outputs& made) { return {made.out, made.lse}; }
};

struct NormalizationTraits : WithDropout<NormalizationInputs, NormalizationParams> {
    using Op = runtime::NormalizationOp;
    using Outputs = NormalizationOutputs;
    static constexpr std::array inputs{"x", "bias", "residual", "weight", "beta"};
    static constexpr std::array outputs{"y", "sum"};
    static TensorList list(const Inputs& in) { return {in.x, in.bias, in.residual, in.weight, in.beta}; }
    static Inputs inputs_of(const TensorList& l) { return {l[0], l[1], l[2], l[3], l[4]}; }
    static TensorList list(const Outputs& made) { return {made.y, made.sum}; }
};

struct ActivationTraits : WithDropout<ActivationInputs, ActivationParams> {
    using Op = runtime::ActivationOp;
    using Outputs = at::Tensor;
    static constexpr std::array inputs{"x", "bias"};
    static constexpr std::array outputs{"y"};
    static TensorList list(const Inputs& in) { return {in.x, in.bias}; }
    static Inputs inputs_of(const TensorList& l) { return {l[0], l[1]}; }
    static TensorList list(const Outputs& made) { return {made}; }
};

struct LinearTraits {
    using Op = runtime::LinearOp;
    using Inputs = LinearInputs;
    using Params = runtime::LinearContext;
    using Outputs = at::Tensor;
    static constexpr std::array inputs{"x", "weight", "bias"};
    static constexpr std::array outputs{"y"};
    static TensorList list(const Inputs& in) { return {in.x, in.weight, in.bias}; }
    static Inputs inputs_of(const TensorList& l) { return {l[0], l[1], l[2]}; }
    static TensorList list(const Outputs& made) { return {made}; }
    // Casts and forms of weights of its own, and none of the policy's counts: training's stay as they are.
    static Params call_params(const Params& context) {
        return {context.site, std::make_shared<runtime::StepWeights>(), nullptr, context.quantized};
    }
    static bool may_overwrite(const Inputs&, const Params&) { return false; }
    static void drop_nothing(Params&) {}
};

struct LossTraits {
    using Op = runtime::LossOp;
    using Inputs = LossInputs;
    using Params = LossParams;
    using Outputs = LossOutputs;
    static constexpr std::array inputs{"x", "weight", "bias", "targets"};
    static constexpr std::array outputs{"loss", "count"};
    static TensorList list(const Inputs& in) { return {in.x, in.weight, in.bias, in.targets}; }
    static Inputs inputs_of(const TensorList& l) { return {l[0], l[1], l[2], l[3]}; }
    static TensorList list(const Outputs& made) { return {made.loss, made.count}; }
    static Params call_params(const Params& params) { return params; }
    static bool may_overwrite(const Inputs& in, const Params& params) {
        return params.may_overwrite_logits && !in.weight.defined();
    }
    static void drop_nothing(Params&) {}
};

// Operations of kinds that are not shadowed have none.
const runtime::BindingBase& binding_of(const runtime::Operation& operation) {
    return std::visit(
        [](const auto& op) -> const runtime::BindingBase& {
            if constexpr (std::is_same_v<std::decay_t<decltype(op)>, std::monostate>)
                throw std::logic_error("an operation of a kind that has no shadow");
            else
                return op->binding();
        },
        operation);
}

runtime::Operation make(const resolver::PlanRow& row, runtime::Registry& registry, const HostInfo& host) {
    runtime::Operation made;
    visit(row.use.kind, [&]<class Traits>(Traits kind) {
        using Op = decltype(runtime::operation_of(kind));
        if constexpr (!std::is_void_v<Op>)
            made = std::make_shared<const Op>(runtime::bind<Op>(row, registry, host));
    });
    return made;
}

bool draws_by_itself(const resolver::PlanRow& row, const runtime::BindingBase& binding) {
    double dropout = 0.0;
    const auto& request = *row.chosen->request;
    if (row.use.kind == Kind::attention) dropout = KindTraits<Kind::attention>::request(request).dropout;
    if (row.use.kind == Kind::normalization)
        dropout = KindTraits<Kind::normalization>::request(request).dropout;
    if (row.use.kind == Kind::activation) dropout = KindTraits<Kind::activation>::request(request).dropout;
    return dropout > 0.0 && binding.random() == RandomSource::library;
}

}  // namespace

Shadow::Shadow(const resolver::Plan& plan, const model::BoundPlan& bound, runtime::Registry& registry,
               const HostInfo& host, Device device)
    : device_(device) {
    for (const auto& row : plan.rows) {
        const auto* const shadow = plan.shadow_of(row);
        if (shadow == nullptr) continue;
        const auto& use = row.use;
        const auto& trains = bound.find(use.members.empty() ? use.slot : use.members.front(), use.phase,
                                        use.layers, use.layer_ids.empty() ? nullptr : &use.layer_ids.front());
        auto slot = std::make_unique<Slot>();
        slot->trusted = make(row, registry, host);
        slot->candidate = make(*shadow, registry, host);
        slot->without_dropout = draws_by_itself(row, binding_of(slot->trusted)) ||
                                draws_by_itself(*shadow, binding_of(slot->candidate));
        slot->line.slot = use.slot;
        slot->line.layers = use.layers;
        slot->line.trusted = full_name(*row.chosen);
        slot->line.candidate = full_name(*shadow->chosen);
        slot->line.every = shadow->use.config.shadow.every;
        slot->line.without_dropout = slot->without_dropout;
        in_order_.push_back(slot.get());
        slots_.emplace(&binding_of(trains), std::move(slot));
    }
}

Shadow::~Shadow() = default;

bool Shadow::begin_step(std::int64_t step) {
    step_ = step;
    bool any = false;
    for (auto* const slot : in_order_) {
        slot->on = (step - 1) % slot->line.every == 0;
        any = any || slot->on;
    }
    return any;
}

ShadowLines Shadow::end_step() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ShadowLines lines;
    for (auto* const slot : in_order_) {
        ShadowLine fresh;
        for (auto ShadowLine::*const kept :
             {&ShadowLine::slot, &ShadowLine::layers, &ShadowLine::trusted, &ShadowLine::candidate})
            fresh.*kept = slot->line.*kept;
        fresh.every = slot->line.every;
        fresh.without_dropout = slot->without_dropout;
        std::swap(fresh, slot->line);
        if (!slot->on) continue;
        fresh.steps = fresh.calls > 0 ? 1 : 0;
        lines.push_back(std::move(fresh));
    }
    return lines;
}

// The gradient of the first output, and of the last where there are two: they come at once where one node
// made both, or else that of the last comes later, since the first is made of it.
void Shadow::wait_for_gradients(Slot& slot, std::shared_ptr<ShadowCall> call, const TensorList& outputs) {
    std::vector<std::size_t> awaited;
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i].defined() && outputs[i].requires_grad()) awaited.push_back(i);
    if (awaited.empty()) return compare(slot, *call);
    call->last_is_operand =
        awaited.size() > 1 && outputs[awaited.front()].grad_fn() != outputs[awaited.back()].grad_fn();
    for (const auto i : awaited) {
        const bool last = i == awaited.back();
        outputs[i].register_hook([this, &slot, call, i, last](const at::Tensor& gradient) {
            if (call->done) return;
            if (gradient.defined()) call->incoming[i] = gradient.detach();
            if (last) compare(slot, *call);
        });
    }
}

void Shadow::compare(Slot& slot, ShadowCall& call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    call.done = true;
    const auto finding = run_twice(call, device_, slot.seen++ % 2 == 1);
    call.inputs.clear();
    call.incoming.clear();
    auto& line = slot.line;
    ++line.calls;
    if (!finding.fault.empty()) return line.faults.add(finding.fault, step_, call.layer);
    line.outputs.add(finding.outputs, step_, call.layer);
    if (finding.has_gradients) line.gradients.add(finding.gradients, step_, call.layer);
    line.trusted_ms.push_back(finding.trusted_ms);
    line.candidate_ms.push_back(finding.candidate_ms);
}

template <class Traits>
void Shadow::follow(const typename Traits::Op& op, const typename Traits::Inputs& inputs,
                    const typename Traits::Params& params, const typename Traits::Outputs& made) {
    using Op = typename Traits::Op;
    const auto found = slots_.find(&op.binding());
    if (found == slots_.end() || !found->second->on) return;
    auto& slot = *found->second;
    auto call = std::make_shared<ShadowCall>();
    call->layer = runtime::current_place();
    call->input_names.assign(Traits::inputs.begin(), Traits::inputs.end());
    call->output_names.assign(Traits::outputs.begin(), Traits::outputs.end());
    for (const auto& input : Traits::list(inputs)) {
        call->needs.push_back(input.defined() && input.requires_grad());
        call->inputs.push_back(input.defined() ? input.detach() : input);
    }
    call->may_overwrite = Traits::may_overwrite(inputs, params);
    auto given = params;
    if (slot.without_dropout) Traits::drop_nothing(given);
    const auto of = [given](const runtime::Operation& operation) {
        const auto chosen = std::get<std::shared_ptr<const Op>>(operation);
        return [given, chosen](const TensorList& list) {
            return Traits::list((*chosen)(Traits::inputs_of(list), Traits::call_params(given)));
        };
    };
    call->trusted = of(slot.trusted);
    call->candidate = of(slot.candidate);
    const auto outputs = Traits::list(made);
    call->incoming.resize(outputs.size());
    wait_for_gradients(slot, std::move(call), outputs);
}

void Shadow::called(const runtime::AttentionOp& op, const AttentionInputs& inputs,
                    const AttentionParams& params, const AttentionOutputs& made) {
    if (params.pages == nullptr) follow<AttentionTraits>(op, inputs, params, made);
}
void Shadow::called(const runtime::NormalizationOp& op, const NormalizationInputs& inputs,
                    const NormalizationParams& params, const NormalizationOutputs& made) {
    follow<NormalizationTraits>(op, inputs, params, made);
}
void Shadow::called(const runtime::ActivationOp& op, const ActivationInputs& inputs,
                    const ActivationParams& params, const at::Tensor& made) {
    follow<ActivationTraits>(op, inputs, params, made);
}
void Shadow::called(const runtime::LinearOp& op, const LinearInputs& inputs,
                    const runtime::LinearContext& context, const at::Tensor& made) {
    follow<LinearTraits>(op, inputs, context, made);
}
void Shadow::called(const runtime::LossOp& op, const LossInputs& inputs, const LossParams& params,
                    const LossOutputs& made) {
    follow<LossTraits>(op, inputs, params, made);
}

}  // namespace switchyard::train
