// Entities that labels of words mark in IOB2 (B-PER begins one, I-PER goes on with it, O is outside), whole:
// right is one that has the right type, beginning and end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/workbench/train/eval_metrics.h"

namespace switchyard::train {

struct Entity {
    std::string type;
    std::size_t begin = 0, end = 0;  // of its words, in one sentence
    bool operator==(const Entity&) const = default;
};

// As conlleval and seqeval take them: an I- that goes on with nothing of its type begins an entity.
std::vector<Entity> entities_of(const std::vector<std::string>& labels);

class EntityCounts {
public:
    // The labels of one sentence's words.
    void add(const std::vector<std::string>& told, const std::vector<std::string>& right);
    // entity_precision, entity_recall and entity_f1 over all entities, 0 where nothing divides.
    Metrics metrics() const;

private:
    std::int64_t both_ = 0, told_ = 0, right_ = 0;
};

}  // namespace switchyard::train
