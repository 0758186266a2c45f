// Only the k likeliest tokens may come, and those that are as likely as the last of them.
#pragma once

#include <cstdint>

#include "core/workbench/infer/logits/logits_processor.h"

namespace switchyard::infer {

class TopK final : public LogitsProcessor {
public:
    explicit TopK(std::int64_t k) : k_(k) {}
    void apply(std::span<float> logits, const Ids&) const override;

private:
    std::int64_t k_;  // positive
};

}  // namespace switchyard::infer
