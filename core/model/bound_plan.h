// A plan with all its components created: what the layers of a model call.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <switchyard/config/layer_rule.h>
#include <switchyard/host/calling/plugin_library.h>
#include <switchyard/model/operations/activation_op.h>
#include <switchyard/model/operations/attention_op.h>
#include <switchyard/model/operations/loss_op.h>
#include <switchyard/model/operations/normalization_op.h>
#include <switchyard/model/operations/precision_op.h>
#include <switchyard/resolver/plan.h>

namespace switchyard::model {

// One row of the plan after a run: what really ran, counted where it ran.
struct Executed {
    std::string slot;
    std::string layers;
    Phase phase = Phase::train;
    std::string plugin, component;
    std::map<std::string, std::uint64_t> calls;  // by variant, "" where there are none
};

class BoundPlan {
public:
    // Creates the components of the model's own kinds (attention, normalization, activation, loss, precision). `registry` and `host` outlive it.
    BoundPlan(const resolver::Plan& plan, host::Registry& registry, const HostInfo& host);

    // `layer` nullptr: a use that stands for no layer, of that stack ("normalization.final"). Throws std::logic_error for a use that the plan does not
    // have: the outline and the model disagree.
    const AttentionOp& attention(std::string_view slot, Phase phase, const config::LayerId& layer) const;
    const NormalizationOp& normalization(std::string_view slot, Phase phase, config::Stack stack,
                                         const config::LayerId* layer = nullptr) const;
    const ActivationOp& activation(std::string_view slot, Phase phase,
                                   const config::LayerId* layer = nullptr) const;
    const LossOp& loss(Phase phase) const;
    const PrecisionOp& precision() const { return *precision_; }

    // Of all rows of that phase, and of the precision policy.
    std::vector<const host::BindingBase*> bindings(Phase phase) const;

    std::vector<Executed> executed() const;

private:
    // Layers of one row share its component. layer -1: the use stands for no layer; stack: only for those that have one.
    using Key = std::tuple<std::string, Phase, int, std::int64_t>;
    template <class Op>
    using Ops = std::map<Key, std::shared_ptr<const Op>>;

    template <class Op>
    void add(Ops<Op>& ops, const resolver::PlanRow& row, host::Registry& registry, const HostInfo& host);
    template <class Op>
    const Op& find(const Ops<Op>& ops, std::string_view slot, Phase phase, int stack,
                   std::int64_t layer) const;

    struct Row {
        const resolver::PlanRow* row;
        const host::BindingBase* binding;
    };

    resolver::Plan plan_;
    Ops<AttentionOp> attentions_;
    Ops<NormalizationOp> normalizations_;
    Ops<ActivationOp> activations_;
    Ops<LossOp> losses_;
    std::shared_ptr<const PrecisionOp> precision_;
    std::vector<Row> rows_;
};

}  // namespace switchyard::model
