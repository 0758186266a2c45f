// A cache whose rows take pages from a pool as they grow (Kwon et al. 2023, "Efficient Memory Management
// for Large Language Model Serving with PagedAttention", arXiv:2309.06180). Rows that fork share the pages
// that they have in common, and one is copied when it is first written to: beams cost what tells them
// apart.
#pragma once

#include <vector>

#include "core/workbench/model/cache/kv_cache.h"
#include "core/workbench/model/cache/token_rows.h"

namespace switchyard::model {

class PagedKvCache final : public KvCache {
public:
    explicit PagedKvCache(CacheShape shape);

    void write(std::int64_t layer, const at::Tensor& k, const at::Tensor& v) override;
    CachedKeys keys(std::int64_t layer) const override;
    std::int64_t bytes() const override;
    // Pages that rows hold, those that several share counted once.
    std::int64_t pages_held() const;

private:
    using Page = std::int64_t;
    struct Layer {
        TokenRows k, v;     // [pages, K, page_size, D]: a head's tokens lie one after the other
        PagedCache shared;  // the same for attention, which reads it as [pages, page_size, K, D]
    };

    void clear() override;
    void make_room() override;
    void reorder(const std::vector<std::int64_t>& rows) override;
    void settle() override;

    std::int64_t pages_for(std::int64_t tokens) const;
    std::int64_t pages_in_all() const { return static_cast<std::int64_t>(holders_.size()); }
    Page take();
    void release(Page page);
    void release_all();
    void own(Page& page);
    void grow(std::int64_t pages);
    void tell_layers();
    at::Tensor gathered(const TokenRows& pages, std::size_t side, at::ScalarType dtype) const;

    std::vector<Layer> layers_;
    std::vector<std::vector<Page>> table_;  // by row
    std::vector<std::int64_t> holders_;     // by page: rows that have it
    std::vector<Page> free_;                // the last one is taken next
    at::Tensor shown_;                      // the table of the last step, where the pages are
    mutable TokenRows picked_;              // a row's pages one after the other, of a narrow one
};

}  // namespace switchyard::model
