// Which values the counter-based generator of <switchyard/interfaces/dropout.h> keeps, as bool tensors: true
// is kept.
//
// Made on the CPU with a plain loop, eight numbers a Philox call, rows in parallel; then moved to the device
// asked for.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/dropout.h>
#include <switchyard/interfaces/tokens.h>

namespace switchyard::reference {

// Rows or columns of a score matrix, or heads.
struct KeepSpan {
    std::int64_t begin = 0;
    std::int64_t size = 0;
};

// keep[c - columns.begin] for these columns of one row.
void fill_keep_row(bool* keep, KeepSpan columns, const Dropout& dropout, std::uint32_t document,
                   std::uint32_t head, std::uint32_t row);

// keep_BHNM for sequences first_document, first_document + 1, ..., and these heads of a layer: queries and
// keys are counted within their sequence.
at::Tensor attention_keep_mask(const Dropout& dropout, std::int64_t first_document, std::int64_t batch,
                               KeepSpan heads, std::int64_t queries, std::int64_t keys,
                               at::Device device = at::kCPU);

// The same for a rectangle of the score matrix.
at::Tensor attention_keep_rectangle(const Dropout& dropout, std::int64_t first_document, std::int64_t batch,
                                    KeepSpan heads, KeepSpan queries, KeepSpan keys,
                                    at::Device device = at::kCPU);

// keep mask of hidden states of these sizes: [batch, seq, width] padded, [total, width] packed.
// `first_channel`: where they are a part of wider states, channels before it.
// Throws std::invalid_argument when sizes and tokens do not agree.
at::Tensor hidden_keep_mask(const Dropout& dropout, const Tokens& tokens, at::IntArrayRef sizes,
                            at::Device device = at::kCPU, std::int64_t first_channel = 0);

// The same for some of the rows alone, tokens in a row: [rows.size, width]. `sizes` are those of all.
at::Tensor hidden_keep_rows(const Dropout& dropout, const Tokens& tokens, at::IntArrayRef sizes,
                            KeepSpan rows, at::Device device = at::kCPU, std::int64_t first_channel = 0);

// x * keep_scale where kept, 0 elsewhere (also where x is not finite); dtype of x.
at::Tensor apply_dropout(const at::Tensor& x, const at::Tensor& keep, const Dropout& dropout);

// dropout(x) of hidden states; x itself when the dropout is not active.
at::Tensor hidden_dropout(const at::Tensor& x, const Dropout& dropout, const Tokens& tokens,
                          std::int64_t first_channel = 0);

}  // namespace switchyard::reference
