// Rows of tokens that grow, and the logits of what may follow each: what every way of choosing tokens
// (greedy, sampling, beams, speculation) asks of a model.
//
// Legend:  R rows  n tokens that are appended to each  V size of the vocabulary
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::infer {

using Ids = std::vector<std::int64_t>;

// What a row begins with.
struct Beginning {
    Ids source;  // of the encoder; empty where there is none
    Ids grown;   // what new tokens are put after; one token at least
};

class GrowingRows {
public:
    virtual ~GrowingRows() = default;
    GrowingRows(const GrowingRows&) = delete;
    GrowingRows& operator=(const GrowingRows&) = delete;

    // Begins a row for each, whatever their lengths, in place of those that were there. Returns the logits of
    // what may follow each, float32 [R, V].
    virtual at::Tensor begin(const std::vector<Beginning>& rows) = 0;

    // Appends tokens[i] to row i: as many to each, one at least. Returns the logits after each of them,
    // float32 [R, n, V].
    virtual at::Tensor append(const std::vector<Ids>& tokens) = 0;

    // Row i is from now on what row rows[i] was; there may be fewer rows then or more. Beams are reordered
    // and rows that have ended leave in this way.
    virtual void select(const std::vector<std::int64_t>& rows) = 0;

    // Takes the last counts[i] tokens of row i away again.
    virtual void take_back(const std::vector<std::int64_t>& counts) = 0;

protected:
    GrowingRows() = default;
};

}  // namespace switchyard::infer
