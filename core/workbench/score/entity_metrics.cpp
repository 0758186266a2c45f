#include "core/workbench/score/entity_metrics.h"

#include <algorithm>
#include <string_view>

namespace switchyard::score {

std::vector<Entity> entities_of(const std::vector<std::string>& labels) {
    std::vector<Entity> entities;
    bool open = false;  // whether the last one may go on
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const std::string_view label = labels[i];
        const bool inside = label.size() >= 2 && label[1] == '-' &&
                            std::string_view("BIES").find(label[0]) != std::string_view::npos;
        if (!inside) {
            open = false;
            continue;
        }
        const bool may_go_on = label[0] == 'I' || label[0] == 'E';
        if (may_go_on && open && entities.back().type == label.substr(2))
            entities.back().end = i + 1;
        else
            entities.push_back({std::string(label.substr(2)), i, i + 1});
        open = label[0] == 'B' || label[0] == 'I';
    }
    return entities;
}

void EntityCounts::add(const std::vector<std::string>& told, const std::vector<std::string>& right) {
    const auto ours = entities_of(told), theirs = entities_of(right);
    for (const auto& entity : theirs) ++types_[entity.type].right;
    for (const auto& entity : ours) {
        auto& counts = types_[entity.type];
        ++counts.told;
        counts.both += std::ranges::find(theirs, entity) != theirs.end() ? 1 : 0;
    }
}

Metrics EntityCounts::metrics() const {
    Counts all;
    for (const auto& [type, counts] : types_) all += counts;
    Metrics metrics{
        {"entity_precision", all.precision()}, {"entity_recall", all.recall()}, {"entity_f1", all.f1()}};
    for (const auto& [type, counts] : types_) metrics.emplace_back("entity_f1/" + type, counts.f1());
    return metrics;
}

}  // namespace switchyard::score
