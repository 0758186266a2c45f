#include "core/workbench/train/label_scale_file.h"

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"

namespace switchyard::train {

std::string label_scale_text(const data::LabelScale& scale, const std::vector<std::string>& names) {
    auto columns = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < scale.mean.size(); ++i)
        columns.push_back(
            {{"name", names.at(i)}, {"mean", scale.mean[i]}, {"deviation", scale.deviation[i]}});
    return nlohmann::ordered_json{{"columns", columns}}.dump(2) + "\n";
}

data::LabelScale read_label_scale(const std::string& path, const std::vector<std::string>& names) {
    const auto fail = [&](const std::string& what) -> data::LabelScale {
        throw base::InputError(path + ": error: " + what);
    };
    const auto text = base::read_text(path);
    if (!text) return fail("is not there; without it predictions have no units");
    const auto object = base::parse_object(*text, path);
    data::LabelScale scale;
    try {
        for (const auto& column : base::needed_list(object, "columns")) {
            const auto at = scale.mean.size();
            const auto name = base::needed_text(column, "name");
            if (at >= names.size() || name != names[at])
                return fail("has the column '" + base::quoted(name) + "' at " + std::to_string(at + 1) +
                            ", expected " +
                            (at < names.size() ? "'" + base::quoted(names[at]) + "'" : "no more"));
            scale.mean.push_back(base::needed_number(column, "mean"));
            scale.deviation.push_back(base::needed_number(column, "deviation"));
            if (!(scale.deviation.back() > 0.0)) return fail("has a deviation that is not above 0");
        }
    } catch (const base::InputError& error) {
        const std::string what = error.what();
        return fail(what.starts_with(path) ? what.substr(path.size() + 9) : what);
    }
    if (scale.mean.size() != names.size())
        return fail("has " + std::to_string(scale.mean.size()) + " columns, expected " +
                    std::to_string(names.size()));
    return scale;
}

}  // namespace switchyard::train
