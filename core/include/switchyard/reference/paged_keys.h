// The keys and values of a paged cache (<switchyard/interfaces/kv_cache.h>) put together again: for the
// reference, for kernels that would rather copy pages than follow a table, and for the core around
// components that serve no pages at all.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/kv_cache.h>

namespace switchyard::reference {

// [1, K, length, D] of sequence b, of k_pages or v_pages. Table entries and places past the length are not
// read.
at::Tensor gather_pages(const at::Tensor& pages, const PagedCache& cache, std::int64_t b,
                        std::int64_t length);

struct PaddedKeys {
    at::Tensor k, v;           // [B, K, longest, D], zeros past each row's length
    at::Tensor key_lengths;    // int32 [B]
    at::Tensor query_offsets;  // int32 [B]: `queries` of them are the last tokens of each row
};

// All sequences as one padded batch, with what a mask has to say of it.
PaddedKeys padded_keys(const PagedCache& cache, std::int64_t queries);

}  // namespace switchyard::reference
