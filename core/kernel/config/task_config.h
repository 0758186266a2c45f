// [task]: what the model is trained and evaluated for.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>

namespace switchyard::config {

// What a model predicts.
// masked_lm: the hidden tokens;  classification: one label for a sequence, from its pooled first token;
// token_classification: one label for each token;
// next_sentence: whether the second sentence follows the first (labels 0: it does, 1: it does not, as in
// BERT);  causal_lm: the next token of a text, gpt only;
// seq2seq: the tokens of a second text that belongs to the first, t5 only;
// regression: one or several numbers for a sequence;  multi_label: for each class by itself whether it
// belongs to a sequence.
enum class TaskKind : std::uint8_t {
    masked_lm,
    classification,
    token_classification,
    next_sentence,
    causal_lm,
    seq2seq,
    regression,
    multi_label
};

struct TaskConfig {
    TaskKind kind = TaskKind::masked_lm;
    std::vector<std::string>
        // names of the classes, in the order of their numbers; regression: of the columns to predict, none
        // for data.label_column alone
        labels;
    bool standardize = true;   // regression: learn (value - mean) / deviation of the training data
    bool project_all = false;  // of words: logits for every position, not only for those that have a label
    bool operator==(const TaskConfig&) const = default;

    // A label is a word of the vocabulary.
    bool predicts_tokens() const {
        return kind == TaskKind::masked_lm || kind == TaskKind::causal_lm || kind == TaskKind::seq2seq;
    }
    std::int64_t classes(std::int64_t vocab_size) const {
        if (predicts_tokens()) return vocab_size;
        if (kind == TaskKind::regression && labels.empty()) return 1;
        return kind == TaskKind::next_sentence ? 2 : static_cast<std::int64_t>(labels.size());
    }
    LossKind loss() const {
        if (kind == TaskKind::regression) return LossKind::mean_squared_error;
        return kind == TaskKind::multi_label ? LossKind::binary_cross_entropy : LossKind::cross_entropy;
    }
    bool float_labels() const { return loss() != LossKind::cross_entropy; }
    bool label_per_token() const { return predicts_tokens() || kind == TaskKind::token_classification; }
};

}  // namespace switchyard::config

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 8> names<config::TaskKind>{
    "masked_lm", "classification", "token_classification", "next_sentence",
    "causal_lm", "seq2seq",        "regression",           "multi_label"};
}  // namespace switchyard

namespace switchyard::config {

// The linear layer that makes a task's logits, as its parameters are named.
inline std::string head_of(const TaskConfig& task) {
    if (task.predicts_tokens()) return "lm_head";
    return task.kind == TaskKind::next_sentence ? "next_sentence" : "classifier";
}

}  // namespace switchyard::config
