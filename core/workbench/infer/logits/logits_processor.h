// What changes the logits of the next token before one is chosen. Processors stand in a list and are applied
// in its order, which is that of transformers: repetition penalty, forbidden tokens, temperature, top-k,
// top-p, min-p.
//
// Legend:  V size of the vocabulary
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/workbench/infer/growing_rows.h"

namespace switchyard::infer {

class LogitsProcessor {
public:
    virtual ~LogitsProcessor() = default;
    LogitsProcessor(const LogitsProcessor&) = delete;
    LogitsProcessor& operator=(const LogitsProcessor&) = delete;

    // `logits` [V]: of what may follow `tokens`, the whole row from its beginning. A token that may not come
    // has -inf, before as after. One at least is finite before, and is after, but for forbidden tokens.
    virtual void apply(std::span<float> logits, const Ids& tokens) const = 0;

protected:
    LogitsProcessor() = default;
};

using LogitsProcessors = std::vector<std::unique_ptr<const LogitsProcessor>>;

}  // namespace switchyard::infer
