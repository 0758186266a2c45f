// Keys and values of earlier tokens, for Phase::prefill and Phase::decode.
//
// Contiguous: the cache is a padded k_BKMD of capacity M with `key_lengths` telling how much is filled;
// nothing more is needed.
// Paged: pages of a pool, in the order that a table names (Kwon et al. 2023, "PagedAttention",
// arXiv:2309.06180).
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace switchyard {

struct PagedCache {
    at::Tensor k_pages;  // [pages, page_size, kv_heads, head_dim]
    at::Tensor v_pages;  // [pages, page_size, kv_heads, v_head_dim]
    // int32 [batch, max_pages]: the page of each run of page_size keys; entries past the length are not read.
    at::Tensor block_table;
    at::Tensor lengths;  // int32 [batch]: keys filled, this call's included
};

}  // namespace switchyard
