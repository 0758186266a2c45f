#include "core/kernel/resolver/plan.h"

#include <algorithm>

namespace switchyard::resolver {

const PlanRow* Plan::find(std::string_view slot, Phase phase, const config::LayerId* layer) const {
    for (const auto& row : rows) {
        if (row.use.slot != slot || row.use.phase != phase) continue;
        const auto& ids = row.use.layer_ids;
        const bool fits =
            layer == nullptr ? ids.empty() : std::find(ids.begin(), ids.end(), *layer) != ids.end();
        if (fits) return &row;
    }
    return nullptr;
}

}  // namespace switchyard::resolver
