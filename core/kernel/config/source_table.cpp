#include "core/kernel/config/source_table.h"

#include <utility>

namespace switchyard::config {
namespace {

template <auto Member>
SourceField field(std::string_view key, std::string_view help, ValueLimits limits = {}, bool path = false) {
    static const SourceConfig standard;
    using T = std::remove_cvref_t<decltype(standard.*Member)>;
    SourceField made;
    made.key = key;
    made.default_value = standard.*Member;
    made.type = static_cast<ValueType>(made.default_value.index());
    made.limits = std::move(limits);
    made.help = help;
    made.path = path;
    made.get = [](const SourceConfig& source) -> Value { return source.*Member; };
    made.set = [](SourceConfig& source, const Value& value) { source.*Member = std::get<T>(value); };
    return made;
}

}  // namespace

const std::vector<SourceField>& source_fields() {
    using S = SourceConfig;
    static const std::vector<SourceField> fields{
        field<&S::name>("name", "what the source is called in summary.json; empty: its first file"),
        field<&S::files>("files", "as data.train", {.not_empty = true}, true),
        field<&S::weight>("weight",
                          "share of the samples of an epoch that are drawn from this source, beside the "
                          "weights of the others",
                          {.min = 0, .above_min = true}),
        field<&S::text_column>("text_column", "column of the text; empty: data.text_column"),
        field<&S::label_column>("label_column", "column of the label; empty: data.label_column")};
    return fields;
}

}  // namespace switchyard::config
