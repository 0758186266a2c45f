#include "core/kernel/config/metric_names.h"

#include <algorithm>

namespace switchyard::config {
namespace {

constexpr std::string_view evaluated = "eval.";

bool always(const Config&) { return true; }
bool never(const Config&) { return false; }
bool tells_words(const Config& config) { return config.task.predicts_tokens(); }
bool has_perplexity(const Config& config) { return tells_words(config) && config.loss.custom.empty(); }
bool is_regression(const Config& config) { return config.task.kind == TaskKind::regression; }
bool has_columns(const Config& config) { return is_regression(config) && config.task.labels.size() > 1; }
bool is_multi_label(const Config& config) { return config.task.kind == TaskKind::multi_label; }
bool is_class(const Config& config) {
    const auto kind = config.task.kind;
    return kind == TaskKind::classification || kind == TaskKind::next_sentence ||
           (kind == TaskKind::token_classification && !marks_entities(config.task));
}
bool has_macro_f1(const Config& config) { return is_class(config) || is_multi_label(config); }
// Where the loss projects by itself there are no logits to compare.
bool has_accuracy(const Config& config) {
    return !config.task.float_labels() && !(tells_words(config) && config.loss.projection);
}
bool has_answers(const Config& config) { return config.train.eval_answers > 0; }
bool has_entities(const Config& config) { return marks_entities(config.task); }

// PER of B-PER and I-PER, in the order of the labels.
std::vector<std::string> entity_types(const TaskConfig& task) {
    std::vector<std::string> types;
    for (const auto& label : task.labels) {
        if (label.size() < 3 || label[1] != '-') continue;
        if (std::ranges::find(types, label.substr(2)) == types.end()) types.push_back(label.substr(2));
    }
    return types;
}

// Of which tasks it is told, over all labels and of each label alone.
struct Metric {
    std::string_view name;
    bool lower_is_better;
    bool (*overall)(const Config&);
    bool (*of_each)(const Config&) = never;
};

constexpr Metric known_metrics[] = {{"loss", true, always},
                                    {"accuracy", false, has_accuracy, is_multi_label},
                                    {"perplexity", true, has_perplexity},
                                    {"bleu", false, has_answers},
                                    {"chrf", false, has_answers},
                                    {"mse", true, is_regression, has_columns},
                                    {"rmse", true, is_regression, has_columns},
                                    {"mae", true, is_regression, has_columns},
                                    {"pearson", false, is_regression, has_columns},
                                    {"spearman", false, is_regression, has_columns},
                                    {"r2", false, is_regression, has_columns},
                                    {"micro_f1", false, is_multi_label},
                                    {"macro_f1", false, has_macro_f1},
                                    {"macro_precision", false, is_class},
                                    {"macro_recall", false, is_class},
                                    {"mcc", false, is_class},
                                    {"f1", false, never, is_class},
                                    {"precision", false, never, is_class},
                                    {"recall", false, never, is_class},
                                    {"exact_match", false, is_multi_label},
                                    {"label_accuracy", false, is_multi_label},
                                    {"entity_precision", false, has_entities},
                                    {"entity_recall", false, has_entities},
                                    {"entity_f1", false, has_entities, has_entities}};

}  // namespace

bool marks_entities(const TaskConfig& task) {
    return task.kind == TaskKind::token_classification &&
           std::ranges::any_of(task.labels, [](const auto& label) { return label.starts_with("B-"); });
}

std::vector<std::string> label_names(const Config& config) {
    const auto& task = config.task;
    if (task.kind == TaskKind::next_sentence) return {"follows", "does not follow"};
    const bool one = task.kind == TaskKind::regression && task.labels.empty();
    return one ? std::vector{config.data.label_column} : task.labels;
}

std::vector<std::string> metric_names(const Config& config) {
    std::vector<std::string> names;
    const auto labels = marks_entities(config.task) ? entity_types(config.task) : label_names(config);
    for (const auto& metric : known_metrics) {
        if (metric.overall(config)) names.emplace_back(metric.name);
        if (!metric.of_each(config)) continue;
        for (const auto& label : labels) names.push_back(std::string(metric.name) + '/' + label);
    }
    return names;
}

bool lower_is_better(std::string_view metric) {
    const auto name = metric.substr(0, metric.find('/'));
    return std::ranges::any_of(
        known_metrics, [&](const Metric& known) { return known.name == name && known.lower_is_better; });
}

std::string kept_metric(const TrainConfig& train) {
    const auto& named = train.keep_best;
    return named.starts_with(evaluated) ? named.substr(evaluated.size()) : "";
}

}  // namespace switchyard::config
