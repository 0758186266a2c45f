#include "core/workbench/model/weights/translated_name.h"

#include <algorithm>

namespace switchyard::model {

std::optional<std::string> translated_name(std::string_view name, std::string_view from,
                                           std::string_view to) {
    const auto number = from.find('#');
    if (number == std::string_view::npos) {
        if (!name.starts_with(from)) return std::nullopt;
        return std::string(to) + std::string(name.substr(from.size()));
    }
    if (!name.starts_with(from.substr(0, number))) return std::nullopt;
    const auto digits = std::min(name.find_first_not_of("0123456789", number), name.size());
    const auto rest = from.substr(number + 1);
    if (digits == number || !name.substr(digits).starts_with(rest)) return std::nullopt;
    const auto hash = to.find('#');
    return std::string(to.substr(0, hash)) + std::string(name.substr(number, digits - number)) +
           std::string(to.substr(hash + 1)) + std::string(name.substr(digits + rest.size()));
}

}  // namespace switchyard::model
