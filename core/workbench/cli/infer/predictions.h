// What a model says of texts, as cells of a table and as JSON.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/workbench/cli/output.h"
#include "core/workbench/data/label_scale.h"
#include "core/workbench/train/predict.h"

namespace switchyard::cli {

class Predictions {
public:
    // Of a session whose tokenizer and weights are loaded. `scale`: of a regression.
    Predictions(train::Session& session, data::LabelScale scale);

    struct Told {
        std::vector<Text> cells;
        nlohmann::ordered_json json;  // "label" and "probabilities", "labels" and these, "values", or "words"
    };
    // In the order of the texts. Throws Failure, with the place of the text, for what is not finite.
    using Place = std::function<std::string(std::size_t text)>;
    std::vector<Told> of(const std::vector<train::GivenText>& texts, const Place& place,
                         const train::BeforeBatch& before = {});

    std::int64_t batch_size() const { return session_.config().batch.size; }
    std::vector<std::string> titles() const;  // of the cells
    bool cells_hold_text() const;             // they are the text with its labels
    // Why a text cannot be given to the model; empty: it can.
    std::string problem(const std::string& text) const;
    // Warns of what the model did not see as it was given, in all texts by now.
    void warn() const;

private:
    void look_at(const train::GivenText& given);
    void require_finite(const std::vector<double>& row, const std::vector<train::GivenText>& texts,
                        std::size_t text, const Place& place) const;

    train::Session& session_;
    data::LabelScale scale_;
    std::size_t texts_ = 0, blank_ = 0, with_nul_ = 0, cut_ = 0;
};

}  // namespace switchyard::cli
