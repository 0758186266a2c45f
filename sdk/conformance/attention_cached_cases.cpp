// Attention over keys of earlier calls: one or a few queries against a long cache, contiguous or in pages.
#include <switchyard/conformance/attention_case.h>

namespace switchyard::conformance {

using namespace attention_masks;
using Specs = AttentionSpecs;

namespace {

// Pages as a core's cache has them: a head's keys one after the other, rows that begin alike, every mask that
// goes by positions, and pages that no tile of a kernel begins or ends with.
void add_pages(Specs& specs, DType dtype) {
    for (const std::int64_t queries : {1, 2, 30}) {
        for (const MaskSet& masks : {MaskSet{causal}, MaskSet{causal, window}, MaskSet{causal, alibi, prefix},
                                     MaskSet{causal, relative}, MaskSet{causal, soft_cap}, MaskSet{}}) {
            AttentionSpec pages{.family = "pages24",
                                .dtype = dtype,
                                .phase = queries < 10 ? Phase::decode : Phase::prefill,
                                .masks = masks,
                                .batch = 3,
                                .queries = queries,
                                .keys = 170,
                                .needs = "",
                                .page_size = 24};
            pages.heads_first = pages.forked = true;
            pages.bidirectional = false;
            pages.lse = queries == 2;
            specs.push_back(pages);
        }
    }
    AttentionSpec moved{.family = "pages_offsets",
                        .dtype = dtype,
                        .phase = Phase::decode,
                        .masks = {causal, alibi},
                        .batch = 2,
                        .queries = 2,
                        .keys = 100,
                        .needs = "",
                        .offsets = true,
                        .page_size = 16};
    specs.push_back(moved);
}

}  // namespace

void add_cached_cases(Specs& specs, DType dtype) {
    for (const std::int64_t queries : {1, 3}) {
        for (const std::int64_t heads : {4, 8}) {
            AttentionSpec cache{.family = "cache",
                                .dtype = dtype,
                                .phase = Phase::decode,
                                .masks = {causal, key_lengths},
                                .batch = 4,
                                .heads = heads,
                                .queries = queries,
                                .keys = 500,
                                .head_dim = 64,
                                .v_head_dim = 64,
                                .needs = "",
                                .offsets = true};
            specs.push_back(cache);
            cache.family = "pages16";
            cache.page_size = 16;
            cache.offsets = false;
            for (const MaskSet& masks : {MaskSet{causal}, MaskSet{causal, dense}}) {
                cache.masks = masks;
                specs.push_back(cache);
            }
            cache.family = "pages16_column";  // a bias for all keys of a query
            cache.dense_bias = 4;
            specs.push_back(cache);
        }
    }
    AttentionSpec prefill{.family = "cache",
                          .dtype = dtype,
                          .phase = Phase::prefill,
                          .masks = {causal, key_lengths},
                          .batch = 3,
                          .queries = 40,
                          .keys = 120,
                          .needs = "",
                          .offsets = true};
    specs.push_back(prefill);
    prefill.family = "pages64";
    prefill.masks = {causal};
    prefill.page_size = 64;
    prefill.offsets = false;
    specs.push_back(prefill);
    add_pages(specs, dtype);
    specs.push_back({.family = "cache",
                     .dtype = dtype,
                     .phase = Phase::decode,
                     .masks = {},
                     .heads = 4,
                     .queries = 1,
                     .keys = 333,
                     .head_dim = 128,
                     .v_head_dim = 128,
                     .needs = ""});
}

}  // namespace switchyard::conformance
