#include "core/kernel/config/group_table.h"

namespace switchyard::config {

const std::vector<GroupField>& group_fields() {
    using G = GroupConfig;
    static const std::vector<GroupField> fields{
        item_field<G, &G::match>(
            "match", "names of parameters, in which * stands for any characters, such as \"encoder.0.*\"",
            {.not_empty = true}),
        item_field<G, &G::frozen>("frozen",
                                  "not trained: no gradient is computed, and the optimizer keeps no state"),
        item_field<G, &G::lr_factor>("lr_factor", "factor of optimizer.lr", {.min = 0}),
        item_field<G, &G::weight_decay_factor>("weight_decay_factor", "factor of optimizer.weight_decay",
                                               {.min = 0})};
    return fields;
}

}  // namespace switchyard::config
