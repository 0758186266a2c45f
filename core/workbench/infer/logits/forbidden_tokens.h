// Tokens that may never come: those that mean nothing in a text, and numbers that the tokenizer has not.
#pragma once

#include <cstdint>
#include <utility>

#include "core/workbench/infer/logits/logits_processor.h"

namespace switchyard::infer {

class ForbiddenTokens final : public LogitsProcessor {
public:
    // `first_unknown`: from this number on there are no tokens, though there are logits.
    ForbiddenTokens(Ids tokens, std::int64_t first_unknown)
        : tokens_(std::move(tokens)), first_unknown_(first_unknown) {}
    void apply(std::span<float> logits, const Ids& tokens) const override;

private:
    Ids tokens_;
    std::int64_t first_unknown_;
};

}  // namespace switchyard::infer
