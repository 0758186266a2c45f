// A plan with all its components created, each as the operation that calls it. Layers of one row share one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/config/layer_rule.h"
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/operations/operation.h"
#include "core/kernel/runtime/plugin_library.h"

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
    // Creates the components of the model's own kinds (attention, normalization, activation, loss,
    // precision).
    // `registry` and `host` outlive it.
    BoundPlan(const resolver::Plan& plan, runtime::Registry& registry, const HostInfo& host);

    // The operation of the row for that layer or, where `layer` is nullptr, for `layers` ("encoder",
    // "model").
    // Throws std::logic_error where the plan has none: it was made for another model.
    const runtime::Operation& find(std::string_view slot, Phase phase, std::string_view layers,
                                   const config::LayerId* layer = nullptr) const;
    const runtime::AttentionOp& attention(std::string_view slot, Phase phase,
                                          const config::LayerId& layer) const;
    const runtime::PrecisionOp& precision() const { return *precision_; }
    std::shared_ptr<const runtime::PrecisionOp> shared_precision() const { return precision_; }

    // Of all rows of that phase, and of the precision policy.
    std::vector<const runtime::BindingBase*> bindings(Phase phase) const;

    std::vector<Executed> executed() const;

private:
    struct Row {
        const resolver::PlanRow* row;
        runtime::Operation operation;
        const runtime::BindingBase* binding;
    };

    resolver::Plan plan_;
    std::vector<Row> rows_;
    std::shared_ptr<const runtime::PrecisionOp> precision_;
};

}  // namespace switchyard::model
