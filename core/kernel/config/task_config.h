// [task]: what the model is trained and evaluated for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>

namespace switchyard::config {

// masked_lm: the words that were hidden;  classification: one label for a sequence, from its pooled first
// token;  token_classification: one
// label for each token;  next_sentence: whether the second sentence follows the first (labels 0: it does, 1:
//                        it does not, as in BERT);
// causal_lm: the next token of a text, gpt only;  seq2seq: the tokens of a second text that belongs to the
// first, t5 only.
enum class TaskKind : std::uint8_t {
    masked_lm,
    classification,
    token_classification,
    next_sentence,
    causal_lm,
    seq2seq
};

struct TaskConfig {
    TaskKind kind = TaskKind::masked_lm;
    std::vector<std::string>
        // names of the classes, in the order of their numbers; classification and token_classification
        labels;
    bool project_all = false;  // of words: logits for every position, not only for those that have a label
    bool operator==(const TaskConfig&) const = default;

    // A label is a word of the vocabulary.
    bool predicts_words() const {
        return kind == TaskKind::masked_lm || kind == TaskKind::causal_lm || kind == TaskKind::seq2seq;
    }
    std::int64_t classes(std::int64_t vocab_size) const {
        if (predicts_words()) return vocab_size;
        return kind == TaskKind::next_sentence ? 2 : static_cast<std::int64_t>(labels.size());
    }
    bool label_per_token() const { return predicts_words() || kind == TaskKind::token_classification; }
};

}  // namespace switchyard::config

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 6> names<config::TaskKind>{
    "masked_lm", "classification", "token_classification", "next_sentence", "causal_lm", "seq2seq"};
}  // namespace switchyard

namespace switchyard::config {

// The linear layer that makes a task's logits, as its parameters are named.
inline std::string head_of(const TaskConfig& task) {
    if (task.predicts_words()) return "lm_head";
    return task.kind == TaskKind::next_sentence ? "next_sentence" : "classifier";
}

}  // namespace switchyard::config
