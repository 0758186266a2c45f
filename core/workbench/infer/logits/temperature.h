// Logits divided by a number: below 1 likely tokens are preferred more, above 1 less.
#pragma once

#include "core/workbench/infer/logits/logits_processor.h"

namespace switchyard::infer {

class Temperature final : public LogitsProcessor {
public:
    explicit Temperature(double temperature);
    void apply(std::span<float> logits, const Ids&) const override;

private:
    float temperature_;  // positive
};

}  // namespace switchyard::infer
