// Probabilities of a task's classes for texts.
#pragma once

#include <string>
#include <vector>

#include "core/workbench/train/session.h"

namespace switchyard::train {

// One row a text, in their order; rows sum to one. Needs the tokenizer and weights to be loaded.
std::vector<std::vector<double>> predict(Session& session, const std::vector<std::string>& texts);

}  // namespace switchyard::train
