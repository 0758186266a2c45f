// One batch as a data loader makes it.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/tokens.h>

namespace switchyard {

// One side of a batch: the only one of an encoder or a decoder, or one of the two of a sequence-to-sequence
// model.
struct TokenBatch {
    at::Tensor ids;             // int64 [batch, seq] or [total]; padded places hold the pad id
    at::Tensor token_type_ids;  // int64, shape of ids, or undefined: token types (BERT's sentence A and B)
    Tokens tokens;
    std::int64_t count = 0;  // real tokens
};

struct Batch {
    TokenBatch source;
    TokenBatch target;  // ids undefined unless the samples have a second sequence
    // int64: [batch] (one per sample), or the shape of source.ids (target.ids where there is a target);
    // -100: no label.
    at::Tensor labels;
    std::vector<std::int64_t> samples;  // for each sequence, the index of its sample in the source of samples
    at::Tensor float_labels;            // float32 [batch, labels of a sample], NaN: no label; or undefined
};

}  // namespace switchyard
