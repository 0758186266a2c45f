#include "core/workbench/cli/infer/predictions.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <utility>

#include "core/workbench/cli/infer/nonfinite_logits.h"
#include "core/workbench/data/label_columns.h"
#include "core/workbench/data/labelled_texts.h"

namespace switchyard::cli {
namespace {

using config::TaskKind;
using Told = Predictions::Told;

std::string percent(double share) {
    char text[16];
    std::snprintf(text, sizeof text, "%.1f %%", 100.0 * share);
    return text;
}

Told told_class(const std::vector<std::string>& labels, const std::vector<double>& row) {
    const auto best = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    Told told{{labels.at(best), percent(row[best])}, {{"label", labels[best]}}};
    for (std::size_t c = 0; c < labels.size(); ++c) told.json["probabilities"][labels[c]] = row[c];
    return told;
}

// The labels that are more likely than not.
Told told_labels(const std::vector<std::string>& labels, const std::vector<double>& row) {
    Told told{{}, {{"labels", nlohmann::ordered_json::array()}}};
    std::string list;
    for (std::size_t c = 0; c < labels.size(); ++c) {
        told.json["probabilities"][labels[c]] = row[c];
        if (row[c] <= 0.5) continue;
        told.json["labels"].push_back(labels[c]);
        base::add_item(list, labels[c] + " (" + percent(row[c]) + ")");
    }
    told.cells = {list.empty() ? "none" : list};
    return told;
}

Told told_numbers(const std::vector<std::string>& names, const std::vector<double>& row) {
    Told told;
    for (std::size_t c = 0; c < names.size(); ++c) {
        told.json["values"][names[c]] = row[c];
        char text[32];
        std::snprintf(text, sizeof text, "%.5g", row[c]);
        told.cells.emplace_back(std::string(text));
    }
    return told;
}

// Each word with its label; where one label is O, which means none, words that have it stand alone.
Told told_words(const std::vector<std::string>& labels, const std::vector<train::LabelledWord>& words) {
    Told told{{}, {{"words", nlohmann::ordered_json::array()}}};
    std::string shown;
    for (const auto& [word, probabilities] : words) {
        nlohmann::ordered_json entry{{"word", word}, {"label", nullptr}};
        std::string mark;
        if (!probabilities.empty()) {
            const auto best = std::max_element(probabilities.begin(), probabilities.end());
            const auto& label = labels.at(static_cast<std::size_t>(best - probabilities.begin()));
            entry["label"] = label;
            for (std::size_t c = 0; c < labels.size(); ++c)
                entry["probabilities"][labels[c]] = probabilities[c];
            if (label != "O") mark = "/" + label;
        }
        told.json["words"].push_back(entry);
        base::add_item(shown, word + mark, " ");
    }
    told.cells = {shown};
    return told;
}

}  // namespace

Predictions::Predictions(train::Session& session, data::LabelScale scale)
    : session_(session), scale_(std::move(scale)) {}

void Predictions::require_finite(const std::vector<double>& row, const std::vector<train::GivenText>& texts,
                                 std::size_t text, const Place& place) const {
    const auto bad = std::ranges::find_if_not(row, [](double value) { return std::isfinite(value); });
    if (bad == row.end()) return;
    const auto labels = data::label_names(session_.config());
    const std::string what = session_.config().task.kind == TaskKind::regression ? "value" : "probability";
    throw nonfinite_failure(place(text) + ": error: the " + what + " of " +
                                labels.at(static_cast<std::size_t>(bad - row.begin())) + " is " +
                                nonfinite_name(*bad) + ": nothing can be predicted",
                            [&] {
                                if (cells_hold_text())
                                    train::predict_words(session_, {texts[text]});
                                else
                                    train::predict(session_, {texts[text]});
                            });
}

std::vector<Told> Predictions::of(const std::vector<train::GivenText>& texts, const Place& place,
                                  const train::BeforeBatch& before) {
    for (const auto& given : texts) look_at(given);
    const auto& config = session_.config();
    const auto labels = data::label_names(config);
    std::vector<Told> all;
    if (cells_hold_text()) {
        for (const auto& words : train::predict_words(session_, texts, before)) {
            for (const auto& word : words) require_finite(word.probabilities, texts, all.size(), place);
            const bool whole =
                std::ranges::none_of(words, [](const auto& word) { return word.probabilities.empty(); });
            cut_ += whole ? 0 : 1;
            all.push_back(told_words(config.task.labels, words));
        }
        return all;
    }
    const auto kind = config.task.kind;
    const auto& tell = kind == TaskKind::regression    ? told_numbers
                       : kind == TaskKind::multi_label ? told_labels
                                                       : told_class;
    for (const auto& row : train::predict(session_, texts, scale_, before)) {
        require_finite(row, texts, all.size(), place);
        all.push_back(tell(labels, row));
    }
    return all;
}

std::vector<std::string> Predictions::titles() const {
    switch (session_.config().task.kind) {
        case TaskKind::token_classification:
            return {"text with labels"};
        case TaskKind::regression:
            return data::label_names(session_.config());
        case TaskKind::multi_label:
            return {"labels"};
        default:
            return {"label", "probability"};
    }
}

bool Predictions::cells_hold_text() const {
    return session_.config().task.kind == TaskKind::token_classification;
}

std::string Predictions::problem(const std::string& text) const {
    auto problem = data::text_problem(text, session_.config().data, session_.tokenizer());
    return problem.empty() && cells_hold_text() ? train::word_problem(session_, text) : problem;
}

void Predictions::look_at(const train::GivenText& given) {
    const auto both = given.text + given.second;
    ++texts_;
    blank_ += both.find_first_not_of(" \t\r\n") == std::string::npos ? 1 : 0;
    with_nul_ += both.find('\0') != std::string::npos ? 1 : 0;
}

void Predictions::warn() const {
    const auto tell = [&](std::size_t count, const std::string& what) {
        if (count > 0)
            std::cerr << "warning: " + std::to_string(count) + " of " + counted(texts_, "text") + what + "\n";
    };
    tell(blank_, " without any word: they all get the same prediction");
    tell(with_nul_, " with NUL bytes");
    tell(cut_, " longer than " + std::to_string(session_.config().batch.max_length) +
                   " tokens: the words beyond have no label");
}

}  // namespace switchyard::cli
