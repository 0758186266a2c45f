// Only tokens may come that are at least p times as likely as the likeliest (Nguyen et al. 2024,
// arXiv:2407.01082).
#pragma once

#include "core/workbench/infer/logits/logits_processor.h"

namespace switchyard::infer {

class MinP final : public LogitsProcessor {
public:
    explicit MinP(double p) : p_(p) {}
    void apply(std::span<float> logits, const Ids&) const override;

private:
    double p_;  // above 0, at most 1
};

}  // namespace switchyard::infer
