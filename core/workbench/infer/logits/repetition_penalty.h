// Tokens that have come before come less easily (Keskar et al. 2019, arXiv:1909.05858, section 4.1).
#pragma once

#include "core/workbench/infer/logits/logits_processor.h"

namespace switchyard::infer {

// A positive logit of a token of the row is divided by the penalty, a negative one multiplied with it, once
// however often the token came; the prompt counts.
class RepetitionPenalty final : public LogitsProcessor {
public:
    explicit RepetitionPenalty(double penalty) : penalty_(static_cast<float>(penalty)) {}
    void apply(std::span<float> logits, const Ids& tokens) const override;

private:
    float penalty_;  // positive; 1: none
};

}  // namespace switchyard::infer
