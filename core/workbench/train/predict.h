// What a model says of texts: probabilities of classes, or numbers.
#pragma once

#include <string>
#include <vector>

#include "core/workbench/train/session.h"

namespace switchyard::train {

// One row a text, in their order: the probabilities of the classes, which sum to one but where each class
// is told by itself, or a regression's numbers in units of its data, of which `scale` is. Needs the
// tokenizer and weights to be loaded.
std::vector<std::vector<double>> predict(Session& session, const std::vector<std::string>& texts,
                                         const data::LabelScale& scale = {});

}  // namespace switchyard::train
