#include "core/workbench/report/record_json.h"

namespace switchyard::report {

std::optional<Interval> interval_of(const Json& object, const char* key) {
    const Json& value = member(object, key);
    const auto median = value.is_number() ? number_of(object, key) : number_of(value, "median");
    if (!median) return std::nullopt;
    return Interval{*median, number_of(value, "low").value_or(*median),
                    number_of(value, "high").value_or(*median)};
}

}  // namespace switchyard::report
