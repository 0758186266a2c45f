// [task]: what the model is trained and evaluated for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>

namespace switchyard::config {

// masked_lm: the words that were hidden;  classification: one label for a sequence, from its pooled first token;  token_classification: one
// label for each token;  next_sentence: whether the second sentence follows the first (labels 0: it does, 1: it does not, as in BERT).
enum class TaskKind : std::uint8_t { masked_lm, classification, token_classification, next_sentence };

struct TaskConfig {
    TaskKind kind = TaskKind::masked_lm;
    std::vector<std::string>
        labels;  // names of the classes, in the order of their numbers; classification and token_classification
    bool project_all = false;  // masked_lm: logits for every position, not only for those that have a label
    bool operator==(const TaskConfig&) const = default;

    std::int64_t classes(std::int64_t vocab_size) const {
        if (kind == TaskKind::masked_lm) return vocab_size;
        return kind == TaskKind::next_sentence ? 2 : static_cast<std::int64_t>(labels.size());
    }
    bool label_per_token() const {
        return kind == TaskKind::masked_lm || kind == TaskKind::token_classification;
    }
};

}  // namespace switchyard::config

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 4> names<config::TaskKind>{
    "masked_lm", "classification", "token_classification", "next_sentence"};
}  // namespace switchyard
