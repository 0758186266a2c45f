// Logits that are no numbers: nothing can be chosen by them.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/workbench/infer/growing_rows.h"

namespace switchyard::infer {

class NonfiniteLogits : public std::runtime_error {
public:
    NonfiniteLogits(const std::string& what, Ids tokens)
        : std::runtime_error(what), tokens_(std::move(tokens)) {}
    // What the logits were to follow: the whole row from its beginning.
    const Ids& tokens() const { return tokens_; }
    // Beginnings of rows with which the model gave them, so that it can be asked again; of a batch with
    // several sources all that may be meant.
    std::vector<Beginning> rows;

private:
    Ids tokens_;
};

// Throws NonfiniteLogits for NaN, for +inf, and where all are -inf; -inf alone is a token that cannot come.
void require_finite(std::span<const float> logits, const Ids& tokens);

}  // namespace switchyard::infer
