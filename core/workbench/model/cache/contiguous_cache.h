// A cache whose rows lie one after the other, each with room for its longest: what a kernel streams best.
#pragma once

#include <vector>

#include "core/workbench/model/cache/kv_cache.h"
#include "core/workbench/model/cache/token_rows.h"

namespace switchyard::model {

class ContiguousCache final : public KvCache {
public:
    explicit ContiguousCache(CacheShape shape);

    void write(std::int64_t layer, const at::Tensor& k, const at::Tensor& v) override;
    void write_at(std::int64_t layer, const at::Tensor& k, const at::Tensor& v,
                  const at::Tensor& places) override;
    CachedKeys keys(std::int64_t layer) const override;
    std::int64_t bytes() const override;

private:
    struct Layer {
        TokenRows k, v;  // [rows that there is room for, K, M, D]
    };

    void clear() override;
    void make_room() override;
    void reorder(const std::vector<std::int64_t>& rows) override;
    void require_memory_for(std::int64_t rows) const;
    TokenRows reordered(const TokenRows& all, const std::vector<std::int64_t>& rows) const;
    TokenRows make(std::int64_t rows, at::ScalarType stored) const;

    std::vector<Layer> layers_;
    // The first places of the first rows, which hold finite numbers, as attention wants of padding.
    std::int64_t clean_ = 0, clean_rows_ = 0;
};

}  // namespace switchyard::model
