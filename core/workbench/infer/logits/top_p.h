// Nucleus sampling (Holtzman et al. 2020, arXiv:1904.09751): only the likeliest tokens may come that have the
// share p of the probability together, as few as reach it.
#pragma once

#include "core/workbench/infer/logits/logits_processor.h"

namespace switchyard::infer {

class TopP final : public LogitsProcessor {
public:
    explicit TopP(double p) : p_(p) {}
    // One token stays at least; of equally likely ones at the border the first.
    void apply(std::span<float> logits, const Ids&) const override;

private:
    double p_;  // 0 to 1
};

}  // namespace switchyard::infer
