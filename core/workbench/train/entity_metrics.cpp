#include "core/workbench/train/entity_metrics.h"

#include <algorithm>

namespace switchyard::train {

std::vector<Entity> entities_of(const std::vector<std::string>& labels) {
    std::vector<Entity> entities;
    bool open = false;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const bool begins = labels[i].starts_with("B-"), goes_on = labels[i].starts_with("I-");
        const auto type = begins || goes_on ? labels[i].substr(2) : "";
        if (goes_on && open && entities.back().type == type) {
            entities.back().end = i + 1;
            continue;
        }
        open = begins || goes_on;
        if (open) entities.push_back({type, i, i + 1});
    }
    return entities;
}

void EntityCounts::add(const std::vector<std::string>& told, const std::vector<std::string>& right) {
    const auto ours = entities_of(told), theirs = entities_of(right);
    told_ += static_cast<std::int64_t>(ours.size());
    right_ += static_cast<std::int64_t>(theirs.size());
    both_ += std::count_if(ours.begin(), ours.end(), [&](const Entity& entity) {
        return std::find(theirs.begin(), theirs.end(), entity) != theirs.end();
    });
}

Metrics EntityCounts::metrics() const {
    const auto share = [](std::int64_t part, std::int64_t whole) {
        return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
    };
    return {{"entity_precision", share(both_, told_)},
            {"entity_recall", share(both_, right_)},
            {"entity_f1", share(2 * both_, told_ + right_)}};
}

}  // namespace switchyard::train
