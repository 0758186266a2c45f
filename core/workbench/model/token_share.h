// Which tokens a rank has between blocks, where norms and dropout are. Usually all: ranks that have a part of
// each layer do the same there. With sequence parallel (Korthikanti et al. 2022, arXiv:2205.05198) each has
// some of a batch's tokens there: where blocks sum up what their parts make, each rank gets the sum of its
// own tokens, and where a block begins, ranks gather the tokens of all.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/dropout.h>
#include <switchyard/interfaces/tokens.h>
#include "core/workbench/model/tensor_ranks.h"

namespace switchyard::model {

class TokenShare {
public:
    // All tokens. `ranks`: nullptr where blocks are whole; they outlive backward.
    explicit TokenShare(TensorRanks* ranks) : ranks_(ranks) {}
    // This rank's share of hidden states of `sizes`, [batch, seq, width] or [total, width].
    TokenShare(TensorRanks* ranks, const config::LayerPart& part, at::IntArrayRef sizes);

    bool all() const { return rows_.empty(); }

    // The own tokens of hidden states that are the same on all ranks: [own, width]. And back.
    at::Tensor own(const at::Tensor& hidden) const;
    at::Tensor gathered(const at::Tensor& own) const;
    // Own tokens, as the parts of a block take in those of all: the gradient is the sum of theirs.
    at::Tensor into_parts(const at::Tensor& own) const;
    // The own tokens of what the parts of a block make together.
    at::Tensor out_of_parts(const at::Tensor& x) const;
    // A vector that own tokens are normalized with, or that is added to them: its gradient is the sum of what
    // all ranks' tokens make.
    at::Tensor parameter(const at::Tensor& vector) const;
    // What dropout leaves of own tokens: the same elements as it leaves of all.
    at::Tensor dropped(const at::Tensor& own, const Dropout& dropout, const Tokens& tokens) const;

private:
    using Make = at::Tensor (TokenShare::*)(const at::Tensor&) const;
    // forward(x), whose gradient is backward(that of the result).
    at::Tensor made(const char* name, const at::Tensor& x, Make forward, Make backward) const;
    std::int64_t width() const { return sizes_.back(); }
    at::Tensor narrowed(const at::Tensor& hidden) const;
    at::Tensor gather(const at::Tensor& own) const;
    at::Tensor sum(const at::Tensor& hidden) const;

    TensorRanks* ranks_;
    std::vector<std::int64_t> sizes_;  // of all tokens' hidden states
    std::vector<std::int64_t> rows_;   // that each rank has, in their order; empty: all have all
    std::int64_t begin_ = 0, count_ = 0;
};

}  // namespace switchyard::model
