// Keys and values of earlier tokens, of all layers of a stack: what a decoder keeps so that a new token costs
// the work of one token alone (Pope et al. 2022, "Efficiently Scaling Transformer Inference",
// arXiv:2211.05102, section 2).
//
// A cache has rows, one for each sequence of a batch, each of a length of its own. A step of a model appends
// to all of them:
//     cache.extend(counts);            once: room for counts[r] more tokens of row r
//     cache.write(layer, k, v);        each layer, its keys and values of just these tokens
//     cache.keys(layer);               what attention reads: all tokens of all rows
//
// Legend:  R rows  K kv heads  n new tokens of a step  M capacity of a row  D head_dim
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/kv_cache.h>
#include "core/kernel/config/cache_config.h"

namespace switchyard::model {

struct CacheShape {
    std::int64_t rows = 0;  // that there is room for at the beginning; more are made room for when they come
    std::int64_t length = 0;  // most tokens of a row
    std::int64_t kv_heads = 0;
    std::int64_t head_dim = 0;
    std::vector<at::ScalarType> dtypes;  // of keys and values as attention takes them, for each layer
    at::Device device{at::kCPU};
    config::CacheKind kind = config::CacheKind::contiguous;
    std::int64_t page_size = 64;           // tokens, of a paged one
    std::int64_t pages = 0;                // that it has to begin with; 0: as many as all rows could want
    std::optional<at::ScalarType> narrow;  // what they are stored in, unless that were wider
    // A contiguous one: its memory stays where it is as long as rows are no more than it was made for, and
    // keys are shown in lengths that change seldom, as graphs that a device replays want it.
    bool stays = false;

    // What a layer's keys and values are stored in: kChar stands for int8 with scales (token_rows.h).
    at::ScalarType stored(std::size_t layer) const;
    std::int64_t pages_in_all() const;
    // Tokens of a row at its longest, those that fill its last page up included.
    std::int64_t whole_length() const;
    // Of a cache of that shape, all layers together.
    std::int64_t bytes() const;
    // Of one layer's keys and values made wide, which a narrow cache has beside them.
    std::int64_t wide_bytes() const;
};

// Keys and values of one layer as attention takes them: AttentionInputs' k and v, or AttentionParams' pages.
struct CachedKeys {
    at::Tensor k, v;  // [R, K, longest row, D]; undefined where there are pages
    const PagedCache* pages = nullptr;
};

class KvCache {
public:
    virtual ~KvCache() = default;
    KvCache(const KvCache&) = delete;
    KvCache& operator=(const KvCache&) = delete;

    // Rows begin anew, all of them empty.
    void begin(std::int64_t rows);
    // Throws std::invalid_argument naming the row where it would be longer than the cache allows; nothing has
    // changed then.
    void extend(const std::vector<std::int64_t>& counts);
    // k, v: [R, K, n, D], any strides. Of row r its first counts[r] tokens are taken, the rest is padding.
    virtual void write(std::int64_t layer, const at::Tensor& k, const at::Tensor& v) = 0;
    // The same of n tokens of every row, written where tensors say: `places`, int64 [R, n]. Of caches that
    // stay.
    virtual void write_at(std::int64_t layer, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& places);
    virtual CachedKeys keys(std::int64_t layer) const = 0;
    // Tokens of a row that `keys` shows: of the longest or, of a cache that stays, a stretch's end, with what
    // is finite and no token behind each row's last one.
    std::int64_t shown() const;
    // Another number after memory was replaced by other memory.
    std::int64_t memory() const { return memory_; }

    // Row i is from now on what row rows[i] was; there may be fewer then or more.
    void select(const std::vector<std::int64_t>& rows);
    // Takes the last counts[r] tokens of row r away.
    void take_back(const std::vector<std::int64_t>& counts);

    std::int64_t rows() const { return static_cast<std::int64_t>(lengths_.size()); }
    const std::vector<std::int64_t>& lengths() const { return lengths_; }
    std::int64_t longest() const;
    // Whether all rows have as many tokens.
    bool even() const;
    const CacheShape& shape() const { return shape_; }
    // That it has taken.
    virtual std::int64_t bytes() const = 0;

protected:
    explicit KvCache(CacheShape shape) : shape_(std::move(shape)) {}

    // Makes what `begin` has said true of the memory; lengths are zeros already.
    virtual void clear() = 0;
    // Lengths are already the new ones, `added()` is what they grew by.
    virtual void make_room() = 0;
    // Lengths are still the old ones.
    virtual void reorder(const std::vector<std::int64_t>& rows) = 0;
    // After `select` and `take_back`: lengths are already the new ones.
    virtual void settle() {}

    void replaced() { ++memory_; }
    // Memory for one layer's keys (side 0) or values (1) in a wider dtype, [R, K, length, D], which the next
    // layer's take over: there is one for all layers and steps.
    at::Tensor wide(std::size_t side, at::ScalarType dtype, std::int64_t length) const;
    // A length as memory is cleaned and shown for: at the end of a stretch.
    std::int64_t rounded(std::int64_t length) const;
    // Of the last `extend`.
    const std::vector<std::int64_t>& added() const { return added_; }

private:
    CacheShape shape_;
    std::vector<std::int64_t> lengths_, added_;
    mutable std::map<std::pair<std::size_t, at::ScalarType>, at::Tensor> wide_;  // by side and dtype
    std::int64_t memory_ = 0;
};

std::unique_ptr<KvCache> make_kv_cache(CacheShape shape);

// Throws base::InputError with the size of caches of these shapes where the machine, or the device, has less
// memory left. `held`: bytes of it that they take the place of.
void require_memory(const std::vector<CacheShape>& shapes, std::int64_t held = 0);

}  // namespace switchyard::model
