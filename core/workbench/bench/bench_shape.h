// What `switchyard bench --shape` takes, kind by kind:
//
//     attention       B,H,N,D              batch, heads, length, head_dim
//                     B,H,K,N,M,D          with kv heads, queries, keys
//     normalization   ROWS,WIDTH
//     activation      ROWS,WIDTH           of the result; a gated activation reads 2 * WIDTH
//     loss            ROWS,CLASSES         on given logits
//                     ROWS,CLASSES,WIDTH   of the hidden states, the output projection being part of it
//     linear          ROWS,IN,OUT
//     optimizer       bert-base, mini-gpt, or tensors as in 4096x768,12x768x768:
//                     [COUNTx]ROWSxCOLUMNS, or N for a vector
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/kinds.h>

namespace switchyard::bench {

struct BenchShape {
    std::string text;  // as it was written; what `shape` says in results

    // attention
    std::int64_t batch = 0, heads = 0, kv_heads = 0, q_length = 0, kv_length = 0, head_dim = 0;
    // normalization, activation, loss, linear
    std::int64_t rows = 0;
    std::int64_t width = 0, classes = 0;  // width == 0: a loss on given logits
    std::int64_t in = 0, out = 0;
    // optimizer: sizes of each tensor, the embeddings of a model first
    std::vector<std::vector<std::int64_t>> tensors;
    std::size_t embeddings = 0;

    bool is_embedding(std::size_t tensor) const { return tensor < embeddings; }

    std::int64_t values() const;  // of all tensors
};

struct ShapeResult {
    std::optional<BenchShape> shape;
    std::string error;  // one line: what was wrong, and what is taken
};

ShapeResult parse_shape(Kind kind, const std::string& text);

// The shapes of a bench that was given none.
std::vector<std::string> default_shapes(Kind kind);

// One line for the help of --shape.
std::string shape_help(Kind kind);

}  // namespace switchyard::bench
