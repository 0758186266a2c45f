// Entities that labels of words mark, whole: right is one that has the right type, beginning and end. In IOB2
// B-PER begins one, I-PER goes on with it, O is outside; in IOBES E-PER ends one, and S-PER is one by itself.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/workbench/score/counts.h"
#include "core/workbench/score/metrics.h"

namespace switchyard::score {

struct Entity {
    std::string type;
    std::size_t begin = 0, end = 0;  // of its words, in one sentence
    bool operator==(const Entity&) const = default;
};

// As conlleval (Tjong Kim Sang and Buchholz 2000, CoNLL) and seqeval by default take them: an I- or E- that
// goes on with nothing of its type begins an entity.
std::vector<Entity> entities_of(const std::vector<std::string>& labels);

class EntityCounts {
public:
    // The labels of one sentence's words.
    void add(const std::vector<std::string>& told, const std::vector<std::string>& right);
    // entity_precision, entity_recall and entity_f1 over all entities, 0 where nothing divides;
    // entity_f1/TYPE of each type that occurs.
    Metrics metrics() const;

private:
    std::map<std::string, Counts> types_;
};

}  // namespace switchyard::score
