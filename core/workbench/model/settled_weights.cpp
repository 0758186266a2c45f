#include "core/workbench/model/settled_weights.h"

#include <switchyard/interfaces/types.h>
#include "core/workbench/model/parameter_storage.h"

namespace switchyard::model {
namespace {

// Whether no phase reads the values any more.
bool settle(const Linear& linear) {
    bool replaced = true, used = false;
    for (std::size_t phase = 0; phase < names<Phase>.size(); ++phase) {
        const auto* operation = linear.operation.find(static_cast<Phase>(phase));
        if (operation == nullptr) continue;
        used = true;
        replaced = operation->settle(linear.weight, linear.context) && replaced;
    }
    return used && replaced;
}

}  // namespace

std::int64_t settle_weights(const std::vector<Linear>& linears) {
    std::int64_t bytes = 0;
    for (const Linear& linear : linears) {
        if (settle(linear) && linear.owns_weight) bytes += let_go(linear.weight);
    }
    return bytes;
}

}  // namespace switchyard::model
