// Caches of keys and values by themselves: what they hold is what was written, whatever kind they are, in
// whatever they store it, and after rows were reordered, forked and cut.
#include "core/workbench/model/cache/kv_cache.h"

#include <cmath>
#include <limits>

#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Stream.h>

#include <switchyard/reference/paged_keys.h>
#include "core/kernel/base/input_error.h"
#include "core/workbench/model/cache/paged_cache.h"
#include "core/workbench/model/cache/planned_cache.h"
#include "core/workbench/model/cache/token_rows.h"

#include <switchyard_test.h>

using namespace switchyard;
using config::CacheKind;

namespace {

// A device whose memory is said to be of that size, with so much of it reserved and, of that, in use.
class SmallDevice final : public c10::DeviceAllocator {
public:
    c10::DataPtr allocate(std::size_t) override { return {nullptr, c10::Device(c10::kPrivateUse1, 0)}; }
    void copy_data(void*, const void*, std::size_t) const override {}
    bool initialized() override { return true; }
    void emptyCache(c10::MempoolId_t) override {}
    void recordStream(const c10::DataPtr&, c10::Stream) override {}
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
        c10::CachingDeviceAllocator::DeviceStats stats;
        stats.reserved_bytes[0].current = 3'000'000;
        stats.allocated_bytes[0].current = 1'000'000;
        return stats;
    }
    void resetAccumulatedStats(c10::DeviceIndex) override {}
    void resetPeakStats(c10::DeviceIndex) override {}
    std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex) override {
        return {7'000'000, 100'000'000};
    }
};

constexpr std::int64_t layers = 2, heads = 3, width = 8;

model::CacheShape shape_of(CacheKind kind, std::optional<at::ScalarType> narrow = {}, std::int64_t rows = 3,
                           std::int64_t length = 20) {
    model::CacheShape shape;
    shape.rows = rows;
    shape.length = length;
    shape.kv_heads = heads;
    shape.head_dim = width;
    shape.dtypes.assign(layers, at::kFloat);
    shape.kind = kind;
    shape.page_size = 4;
    shape.narrow = narrow;
    return shape;
}

// A cache beside plain tensors: of each layer and row [K, tokens, D].
class Shadowed {
public:
    explicit Shadowed(const model::CacheShape& shape) : cache_(model::make_kv_cache(shape)) {}

    void begin(const std::vector<std::int64_t>& counts) {
        cache_->begin(static_cast<std::int64_t>(counts.size()));
        rows_.assign(counts.size(), {});
        for (auto& row : rows_)
            for (auto& side : row) side.assign(layers, at::zeros({heads, 0, width}));
        extend(counts);
    }
    void extend(const std::vector<std::int64_t>& counts) {
        cache_->extend(counts);
        const auto n = *std::max_element(counts.begin(), counts.end());
        for (std::int64_t layer = 0; layer < layers; ++layer) {
            // As projections lie: [R, n, K, D].
            const auto drawn = [&] { return at::randn({cache_->rows(), n, heads, width}).transpose(1, 2); };
            const auto k = drawn(), v = drawn();
            cache_->write(layer, k, v);
            for (std::size_t r = 0; r < rows_.size(); ++r) {
                add(rows_[r][0], layer, k[static_cast<std::int64_t>(r)].narrow(1, 0, counts[r]));
                add(rows_[r][1], layer, v[static_cast<std::int64_t>(r)].narrow(1, 0, counts[r]));
            }
        }
    }
    void select(const std::vector<std::int64_t>& which) {
        cache_->select(which);
        std::vector<Row> selected;
        for (const auto row : which) selected.push_back(rows_[static_cast<std::size_t>(row)]);
        rows_ = selected;
    }
    void take_back(const std::vector<std::int64_t>& counts) {
        cache_->take_back(counts);
        for (std::size_t r = 0; r < rows_.size(); ++r)
            for (auto& side : rows_[r])
                for (auto& x : side) x = x.narrow(1, 0, x.size(1) - counts[r]);
    }

    // The largest difference, relative to the largest number of each token and head.
    double error() const {
        double worst = 0.0;
        for (std::int64_t layer = 0; layer < layers; ++layer) {
            const auto keys = cache_->keys(layer);
            const at::Tensor parts[] = {keys.k, keys.v};
            for (std::size_t r = 0; r < rows_.size(); ++r) {
                for (std::size_t side = 0; side < 2; ++side) {
                    const auto& expected = rows_[r][side][static_cast<std::size_t>(layer)];
                    if (expected.size(1) == 0) continue;
                    const auto row = static_cast<std::int64_t>(r);
                    const auto got =
                        keys.pages == nullptr
                            ? parts[side][row].narrow(1, 0, expected.size(1))
                            : reference::gather_pages(side == 0 ? keys.pages->k_pages : keys.pages->v_pages,
                                                      *keys.pages, row, expected.size(1))
                                  .squeeze(0);
                    const auto apart = got.sub(expected).abs().div(expected.abs().amax(-1, true));
                    worst = std::max(worst, apart.max().item<double>());
                }
            }
        }
        return worst;
    }
    model::KvCache& cache() { return *cache_; }

private:
    using Row = std::array<std::vector<at::Tensor>, 2>;  // k and v, by layer

    static void add(std::vector<at::Tensor>& side, std::int64_t layer, const at::Tensor& more) {
        auto& x = side[static_cast<std::size_t>(layer)];
        x = at::cat({x, more}, 1);
    }

    std::unique_ptr<model::KvCache> cache_;
    std::vector<Row> rows_;
};

// What a number may be off by, relative to the largest beside it: half a unit in the last place of each
// format.
struct Stored {
    std::optional<at::ScalarType> dtype;
    double allowed;
};
const Stored all_stored[] = {{{}, 0.0},
                             {at::kFloat, 0.0},
                             {at::kDouble, 0.0},  // wider than what comes: stored as it comes
                             {at::kBFloat16, 1.0 / 256},
                             {at::kHalf, 1.0 / 2048},
                             {at::kChar, 0.5001 / 127}};

}  // namespace

TEST_CASE("a cache holds what was written, after rows were reordered, forked and cut") {
    const auto kind = GENERATE(CacheKind::contiguous, CacheKind::paged);
    for (const auto& stored : all_stored) {
        INFO(name(kind) << ", " << (stored.dtype ? toString(*stored.dtype) : "auto"));
        Shadowed rows(shape_of(kind, stored.dtype));
        const auto check = [&] { CHECK(rows.error() <= stored.allowed); };
        rows.begin({5, 1, 8});
        check();
        rows.extend({1, 1, 1});
        check();
        rows.extend({3, 0, 2});
        check();
        rows.take_back({4, 1, 0});
        check();
        rows.extend({1, 1, 1});
        check();
        rows.select({2, 0});
        check();
        rows.select({1, 1, 0, 1});  // more rows than there was room for
        rows.extend({1, 2, 1, 3});
        check();
        rows.select({3, 0, 2, 1});
        rows.take_back({4, 0, 1, 2});
        rows.extend({2, 2, 2, 2});
        check();
        rows.begin({20, 20, 20});
        check();
    }
}

TEST_CASE("numbers of 8 bits are the nearest, however those they come from lie, and nothing is hidden") {
    const auto dtype = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
    INFO(dtype);
    constexpr double inf = std::numeric_limits<double>::infinity();
    auto x = at::randn({2, heads, 5, width}).mul(3.0);
    x[1][0][1] = 0.0;
    x[1][0][2] = at::tensor({127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -126.0, 3.0});  // halves go to even numbers
    x[1][1][1][3] = inf;
    x[1][2][3][0] = std::nan("");
    x = x.to(dtype);
    const auto across = x.transpose(2, 3).contiguous().transpose(2, 3);
    const auto stored = [](const at::Tensor& from) {
        auto rows = model::empty_rows({2, heads, 7, width}, at::kChar, at::kCPU);
        rows.zero();
        model::store(from, {1, 1}, 3, rows, {0, 2});
        return rows;
    };
    const auto rows = stored(x), others = stored(across);
    CHECK(rows.values.equal(others.values));
    CHECK(rows.scales.nan_to_num(-1.0).equal(others.scales.nan_to_num(-1.0)));
    CHECK(rows.values[0][0][3].equal(at::tensor({127, 0, 2, 2, 0, -2, -126, 3}, at::kChar)));
    const auto wide = at::empty({2, heads, 7, width});
    model::widen(rows, wide);
    const auto got = wide[0].narrow(1, 2, 3).to(at::kDouble), want = x[1].narrow(1, 1, 3).to(at::kDouble);
    CHECK(got[0][0].abs().max().item<double>() == 0.0);
    CHECK(got[1][0][3].item<double>() == inf);
    CHECK(got[2][2].isnan().all().item<bool>());
    CHECK(wide[1].abs().max().item<double>() == 0.0);  // nothing else was written
    const auto largest = want.abs().amax(-1, true);
    const auto within =
        (got - want).abs().le(largest.mul(0.5001 / 127.0)).logical_or(largest.isfinite().logical_not());
    CHECK(within.all().item<bool>());
}

TEST_CASE("rows that fork share their pages until they write to them") {
    Shadowed rows(shape_of(CacheKind::paged));
    auto& cache = dynamic_cast<model::PagedKvCache&>(rows.cache());
    rows.begin({9});  // two pages and one key
    CHECK(cache.pages_held() == 3);
    rows.select({0, 0, 0});
    CHECK(cache.pages_held() == 3);
    rows.extend({1, 1, 1});  // the last page is copied twice
    CHECK(cache.pages_held() == 5);
    CHECK(rows.error() == 0.0);
    rows.select({1});
    CHECK(cache.pages_held() == 3);
    rows.take_back({6});
    CHECK(cache.pages_held() == 1);
    rows.begin({4});
    CHECK(cache.pages_held() == 1);
}

TEST_CASE("a narrow cache takes a part of the memory, and is as large as was told before") {
    const auto bytes = [](CacheKind kind, std::optional<at::ScalarType> narrow) {
        const auto shape = shape_of(kind, narrow);
        const auto taken = model::make_kv_cache(shape)->bytes();
        CHECK(taken == shape.bytes());
        return taken;
    };
    for (const auto kind : {CacheKind::contiguous, CacheKind::paged}) {
        const auto whole = bytes(kind, {});
        CHECK(whole == 2 * layers * 3 * heads * 20 * width * 4);
        CHECK(2 * bytes(kind, at::kHalf) == whole);
        CHECK(2 * bytes(kind, at::kBFloat16) == whole);
        // Eight numbers have a byte each, and four for their scale: with 64 it is a quarter and a sixteenth.
        CHECK(bytes(kind, at::kChar) == 2 * layers * 3 * heads * 20 * (width + 4));
    }
}

TEST_CASE("rows that fork beyond the memory are refused with their size, and those that are there stay") {
    const auto kind = GENERATE(CacheKind::contiguous, CacheKind::paged);
    constexpr std::int64_t many = 1'000'000, length = std::int64_t{1} << 16;
    Shadowed rows(shape_of(kind, {}, 1, length));
    rows.begin({5});
    if (kind == CacheKind::contiguous) {
        CHECK_THROWS_WITH(rows.cache().select(std::vector<std::int64_t>(many, 0)),
                          test::contains("takes 25165824 MB for 1000000 rows of 65536 tokens"));
        CHECK(rows.cache().rows() == 1);
        CHECK(rows.error() == 0.0);
        rows.extend({2});
        CHECK(rows.error() == 0.0);
    } else {
        // Rows that fork share their pages: more are wanted where they begin.
        CHECK_THROWS_WITH(rows.cache().begin(many),
                          test::contains("takes 25165824 MB for 1 row of 65536000000 tokens"));
    }
}

TEST_CASE("what a cache cannot do is told") {
    Shadowed rows(shape_of(GENERATE(CacheKind::contiguous, CacheKind::paged)));
    rows.begin({19, 3});
    CHECK_THROWS_WITH(rows.cache().extend({2, 1}),
                      test::contains("row 0 would have 21 tokens; expected at most the 20"));
    CHECK(rows.cache().lengths() == std::vector<std::int64_t>{19, 3});
    CHECK_THROWS_WITH(rows.cache().extend({1}), test::contains("the cache has 2 rows, got numbers for 1"));
    CHECK_THROWS_WITH(rows.cache().take_back({1, 4}),
                      test::contains("cannot take 4 of the 3 tokens of row 1"));
    CHECK_THROWS_WITH(rows.cache().select({0, 2}), test::contains("there is no row 2 in a cache of 2"));
    auto huge = shape_of(CacheKind::contiguous);
    huge.length = std::int64_t{1} << 45;
    CHECK_THROWS_AS(model::require_memory({huge}), base::InputError);
    CHECK_THROWS_WITH(model::require_memory({huge}),
                      test::contains("takes 40532396646 MB for 3 rows of 35184372088832 tokens"));
    model::require_memory({shape_of(CacheKind::contiguous)});
}

TEST_CASE("a cache on a device is held against the memory that the device has left") {
    static SmallDevice device;
    c10::SetAllocator(c10::kPrivateUse1, &device);
    auto shape = shape_of(CacheKind::contiguous, {}, 1, 100);
    shape.device = at::Device(c10::kPrivateUse1, 0);
    shape.length = 9'000'000 / (2 * layers * heads * width * 4);  // free, or kept without need
    model::require_memory({shape});
    shape.length += 1;
    CHECK_THROWS_WITH(model::require_memory({shape}),
                      test::contains("takes 9 MB for 1 row of " + std::to_string(shape.length) +
                                     " tokens, and the device has 9 MB left"));
    c10::SetAllocator(c10::kPrivateUse1, nullptr);
    model::require_memory({shape});  // which does not say
}

TEST_CASE("pages are those of rows that begin, and of what rows that fork from them add") {
    config::ModelConfig sizes;
    sizes.kv_heads = heads;
    sizes.head_dim = width;
    config::CacheConfig paged;
    paged.kind = CacheKind::paged;
    paged.page_size = 4;
    const auto pages = [&](const model::CacheLimits& limits, bool cross = false) {
        return model::cache_shape(sizes, paged, Device::cpu, limits, cross).pages_in_all();
    };
    CHECK(pages({.rows = 6, .length = 20}) == 6 * 5);
    // Six texts of two prompts: each of the other four adds five tokens, which lie on three pages at most.
    CHECK(pages({.rows = 6, .length = 20, .begun = 2, .added = 5}) == 2 * 5 + 4 * 3);
    CHECK(pages({.rows = 6, .length = 20, .begun = 2, .added = 18}) == 6 * 5);
    CHECK(pages({.rows = 6, .length = 20, .begun = 2}) == 6 * 5);
    CHECK(pages({.rows = 6, .length = 20, .source = 9, .begun = 2, .added = 5}, true) == 2 * 3);
    paged.kind = CacheKind::contiguous;
    const auto whole = model::cache_shape(sizes, paged, Device::cpu,
                                          {.rows = 6, .length = 20, .begun = 2, .added = 5}, false);
    CHECK(whole.rows == 6);

    // As many are enough: rows that fork and grow never ask for more.
    paged.kind = CacheKind::paged;
    auto shape = model::cache_shape(sizes, paged, Device::cpu,
                                    {.rows = 6, .length = 20, .begun = 2, .added = 5}, false);
    shape.dtypes.assign(layers, at::kFloat);
    Shadowed rows(shape);
    const auto bytes = rows.cache().bytes();
    CHECK(bytes == shape.bytes());
    rows.begin({15, 14});
    rows.select({0, 0, 0, 1, 1, 1});
    for (int token = 0; token < 5; ++token) {
        rows.extend({1, 1, 1, 1, 1, 1});
        rows.select({2, 1, 0, 5, 5, 3});
        CHECK(rows.error() == 0.0);
    }
    CHECK(rows.cache().bytes() == bytes);
}
