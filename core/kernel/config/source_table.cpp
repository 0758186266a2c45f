#include "core/kernel/config/source_table.h"

namespace switchyard::config {

const std::vector<SourceField>& source_fields() {
    using S = SourceConfig;
    static const std::vector<SourceField> fields{
        item_field<S, &S::name>("name", "what the source is called in summary.json; empty: its first file"),
        item_field<S, &S::files>("files", "as data.train", {.not_empty = true}, true),
        item_field<S, &S::weight>(
            "weight",
            "share of the samples of an epoch that are drawn from this source, beside the "
            "weights of the others",
            {.min = 0, .above_min = true}),
        item_field<S, &S::text_column>("text_column", "column of the text; empty: data.text_column"),
        item_field<S, &S::label_column>("label_column", "column of the label; empty: data.label_column")};
    return fields;
}

}  // namespace switchyard::config
