// What a model says of texts: probabilities of classes, or numbers, of a whole text or of each of its words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/workbench/train/session.h"

namespace switchyard::train {

// Does a sample of this task consist of two texts?
bool takes_pairs(const config::Config& config);

struct GivenText {
    std::string text;
    std::string second = {};  // of a task that takes pairs
};

// Called before each batch; what it throws ends the work.
using BeforeBatch = std::function<void()>;

// One row a text, in their order: the probabilities of the classes, which sum to one but where each class
// is told by itself, or a regression's numbers in units of its data, of which `scale` is. Needs the
// tokenizer and weights to be loaded.
std::vector<std::vector<double>> predict(Session& session, const std::vector<GivenText>& texts,
                                         const data::LabelScale& scale = {}, const BeforeBatch& before = {});

struct LabelledWord {
    std::string word;
    std::vector<double> probabilities;  // of the classes; none for a word beyond batch.max_length
};

// Why one of a text's words cannot be labelled; empty: all can.
std::string word_problem(const Session& session, const std::string& text);

// Of a model for token_classification: the words of each text, which white space parts, with what is said at
// each one's first piece.
std::vector<std::vector<LabelledWord>> predict_words(Session& session, const std::vector<GivenText>& texts,
                                                     const BeforeBatch& before = {});

}  // namespace switchyard::train
