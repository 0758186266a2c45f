#include <switchyard/model/bound_plan.h>

#include <stdexcept>

#include <switchyard/model/operations/bind.h>

namespace switchyard::model {
namespace {

constexpr std::int64_t no_layer = -1;
constexpr int no_stack = -1;

// "encoder" or "decoder" for a use that stands for a whole stack.
int stack_of(const resolver::SlotUse& use) {
    const auto stack = parse<config::Stack>(use.layers);
    return stack ? static_cast<int>(*stack) : no_stack;
}

}  // namespace

BoundPlan::BoundPlan(const resolver::Plan& plan, host::Registry& registry, const HostInfo& host)
    : plan_(plan) {
    for (const auto& row : plan_.rows) {
        switch (row.use.kind) {
            case Kind::attention:
                add(attentions_, row, registry, host);
                break;
            case Kind::normalization:
                add(normalizations_, row, registry, host);
                break;
            case Kind::activation:
                add(activations_, row, registry, host);
                break;
            case Kind::loss:
                add(losses_, row, registry, host);
                break;
            case Kind::precision:
                precision_ = std::make_shared<const PrecisionOp>(bind<PrecisionOp>(row, registry, host));
                rows_.push_back({&row, &precision_->binding()});
                break;
            default:
                break;
        }
    }
    if (!precision_) throw std::logic_error("the plan has no precision policy");
}

template <class Op>
void BoundPlan::add(Ops<Op>& ops, const resolver::PlanRow& row, host::Registry& registry,
                    const HostInfo& host) {
    const auto op = std::make_shared<const Op>(bind<Op>(row, registry, host));
    rows_.push_back({&row, &op->binding()});
    for (const auto& layer : row.use.layer_ids)
        ops[{row.use.slot, row.use.phase, static_cast<int>(layer.stack), layer.index}] = op;
    if (row.use.layer_ids.empty()) ops[{row.use.slot, row.use.phase, stack_of(row.use), no_layer}] = op;
}

template <class Op>
const Op& BoundPlan::find(const Ops<Op>& ops, std::string_view slot, Phase phase, int stack,
                          std::int64_t layer) const {
    const auto found = ops.find({std::string(slot), phase, stack, layer});
    if (found != ops.end()) return *found->second;
    throw std::logic_error("the plan has no " + std::string(slot) + " for phase " + std::string(name(phase)) +
                           (layer == no_layer ? "" : ", layer " + std::to_string(layer)));
}

const AttentionOp& BoundPlan::attention(std::string_view slot, Phase phase,
                                        const config::LayerId& layer) const {
    return find(attentions_, slot, phase, static_cast<int>(layer.stack), layer.index);
}

const NormalizationOp& BoundPlan::normalization(std::string_view slot, Phase phase, config::Stack stack,
                                                const config::LayerId* layer) const {
    return find(normalizations_, slot, phase, static_cast<int>(stack),
                layer == nullptr ? no_layer : layer->index);
}

const ActivationOp& BoundPlan::activation(std::string_view slot, Phase phase,
                                          const config::LayerId* layer) const {
    if (layer == nullptr) return find(activations_, slot, phase, no_stack, no_layer);
    return find(activations_, slot, phase, static_cast<int>(layer->stack), layer->index);
}

const LossOp& BoundPlan::loss(Phase phase) const { return find(losses_, "loss", phase, no_stack, no_layer); }

std::vector<const host::BindingBase*> BoundPlan::bindings(Phase phase) const {
    std::vector<const host::BindingBase*> all;
    for (const auto& [row, binding] : rows_) {
        if (row->use.phase == phase || row->use.kind == Kind::precision) all.push_back(binding);
    }
    return all;
}

std::vector<Executed> BoundPlan::executed() const {
    std::vector<Executed> all;
    for (const auto& [row, binding] : rows_) {
        all.push_back({row->use.slot, row->use.layers, row->use.phase, binding->plugin(),
                       binding->component(), binding->executed().calls()});
    }
    return all;
}

}  // namespace switchyard::model
