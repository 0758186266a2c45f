// Cached and uncached logits: the cache errs no more than the same plan without it does, for every family of
// models, by every attention, with prompts of several lengths in one batch.
#include "decoding_model.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include "core/kernel/base/input_error.h"
#include "core/kernel/machine/cpu_allocator.h"
#include "core/kernel/runtime/call_observer.h"
#include "core/workbench/infer/cached_rows.h"
#include "core/workbench/model/cache/planned_cache.h"

#include <kept_work.h>
#include <switchyard_test.h>

using namespace switchyard;
using infer::Beginning;
using infer::Ids;

namespace {

// What was compared so far: got by the cache, without it, and what is right.
struct Compared {
    std::vector<at::Tensor> got, uncached, right;

    double error(const std::vector<at::Tensor>& of) const {
        const auto truth = at::cat(right);
        return at::cat(of).sub(truth).square().mean().sqrt().item<double>() /
               truth.square().mean().sqrt().item<double>();
    }
};

// Logits of whole rows by one model, computed once: grow() asks for the same ones in the same order,
// whichever cache they are held against.
class WholeRows {
public:
    static WholeRows& of(const test::DecodingFamily& family, const std::string& attention,
                         const std::string& compute_dtype) {
        static std::map<std::array<std::string, 3>, WholeRows> all;
        auto& found = all[{family.name, attention, compute_dtype}];
        if (found.model_ == nullptr) {
            found.model_ = std::make_unique<test::DecodingModel>(
                family, attention, std::vector{"precision.compute_dtype=" + compute_dtype});
        }
        found.next_ = 0;
        return found;
    }
    at::Tensor next(const std::vector<Beginning>& rows, std::int64_t count) {
        if (next_ == known_.size()) known_.push_back({rows, test::uncached_logits(*model_, rows, count)});
        const auto& [asked, logits] = known_.at(next_++);
        REQUIRE(std::ranges::equal(asked, rows, [](const auto& a, const auto& b) {
            return a.source == b.source && a.grown == b.grown;
        }));
        REQUIRE(logits.size(1) == count);
        return logits;
    }

private:
    std::unique_ptr<test::DecodingModel> model_;
    std::vector<std::pair<std::vector<Beginning>, at::Tensor>> known_;
    std::size_t next_ = 0;
};

// Rows as they are known without the cache, beside those over it.
class Pair {
public:
    Pair(const test::DecodingFamily& family, const std::string& attention, const test::DecodingModel& model,
         std::shared_ptr<device_graph::GraphMaker> graphs)
        : family_(family),
          model_(model),
          uncached_(WholeRows::of(family, attention, "float32")),
          right_(WholeRows::of(family, "naive", "float64")),
          cached_(model.config, *model.model, infer::CachedRows::no_limits, std::move(graphs)) {}

    void begin(std::initializer_list<std::int64_t> lengths, std::uint64_t seed) {
        rows_.clear();
        for (const auto length : lengths) {
            const auto at = seed + 10 * rows_.size();
            rows_.push_back({family_.reads_source() ? tokens(2 + (3 * length) % 7, at + 1) : Ids{},
                             tokens(length, at + 2)});
        }
        compare(cached_.begin(rows_).unsqueeze(1), 1);
    }
    void append(std::int64_t count, std::uint64_t seed) {
        std::vector<Ids> more;
        for (auto& row : rows_) {
            more.push_back(tokens(count, seed++));
            row.grown.insert(row.grown.end(), more.back().begin(), more.back().end());
        }
        compare(cached_.append(more), count);
    }
    void select(const std::vector<std::int64_t>& which) {
        std::vector<Beginning> selected;
        for (const auto row : which) selected.push_back(rows_[static_cast<std::size_t>(row)]);
        rows_ = selected;
        cached_.select(which);
    }
    void take_back(const std::vector<std::int64_t>& counts) {
        for (std::size_t r = 0; r < rows_.size(); ++r)
            rows_[r].grown.resize(rows_[r].grown.size() - static_cast<std::size_t>(counts[r]));
        cached_.take_back(counts);
    }
    const Compared& compared() const { return compared_; }
    const infer::CachedRows& cached() const { return cached_; }

private:
    Ids tokens(std::int64_t count, std::uint64_t seed) const {
        return test::drawn_tokens(count, model_.config.model.vocab_size, seed);
    }
    void compare(const at::Tensor& got, std::int64_t count) {
        CHECK(got.scalar_type() == at::kFloat);
        const auto right = right_.next(rows_, count);
        REQUIRE(got.sizes() == right.sizes());
        compared_.got.push_back(got.to(at::kDouble).flatten());
        compared_.uncached.push_back(uncached_.next(rows_, count).flatten());
        compared_.right.push_back(right.flatten());
    }

    const test::DecodingFamily& family_;
    const test::DecodingModel& model_;
    WholeRows& uncached_;
    WholeRows& right_;
    infer::CachedRows cached_;
    std::vector<Beginning> rows_;
    Compared compared_;
};

// All that rows go through: unequal prompts, one token and several, rows that leave, fork and shrink.
void grow(Pair& pair) {
    pair.begin({7, 1, 10}, 100);
    for (std::uint64_t step = 0; step < 4; ++step) pair.append(1, 200 + 10 * step);
    pair.append(3, 300);
    pair.take_back({2, 0, 3});
    pair.append(1, 310);
    pair.select({2, 0});
    pair.append(1, 320);
    pair.select({1, 1, 0, 1});
    pair.append(2, 330);
    pair.select({3, 2, 1, 0});
    pair.append(1, 340);
    pair.begin({6, 6}, 400);  // rows of one length need no mask
    pair.append(1, 410);
    pair.append(2, 420);
    pair.take_back({0, 1});
    pair.append(1, 430);
}

constexpr double float32_roundoff = 0x1p-24;
// Layers of products that one logit goes through, each of which rounds: its sums come in another order for
// a row by itself.
constexpr double products = 16.0;

// How a family's model errs with a cache and without one.
struct Errors {
    double cached, uncached;
};

Errors errors(const test::DecodingFamily& family, const std::string& attention,
              const std::vector<std::string>& overrides,
              std::shared_ptr<device_graph::GraphMaker> graphs = nullptr) {
    const test::DecodingModel model(family, attention, overrides);
    Pair pair(family, attention, model, std::move(graphs));
    grow(pair);
    const auto& compared = pair.compared();
    if (const auto* const counts = pair.cached().graph_counts()) {
        // Rows that are shorter than a prefix begin anew instead.
        if (model.config.model.prefix == 0) CHECK(counts->captures >= 1);
        CHECK(counts->replays >= counts->captures);
    }
    return {compared.error(compared.got), compared.error(compared.uncached)};
}

}  // namespace

TEST_CASE("rows over a cache have the logits of whole rows") {
    const std::string attention = GENERATE("naive", "torch", "chunked", "flash");
    const std::string kind = GENERATE("contiguous", "paged");
    for (const auto& family : test::decoding_families()) {
        if (family.soft_cap && attention == "torch") continue;  // SDPA has none
        INFO(family.name << ", " << attention << ", " << kind);
        const auto found =
            errors(family, attention, {"cache.kind=" + kind, "cache.page_size=4", "cache.step_tokens=2"});
        INFO("cached " << found.cached << ", uncached " << found.uncached);
        CHECK(found.cached <= 2.0 * found.uncached + products * float32_roundoff);
        CHECK(found.uncached < 1e-5);
    }
}

TEST_CASE("a narrow cache adds what its format rounds away, and no more") {
    // Half a unit in the last place, of int8 half a step of the largest number.
    const std::map<std::string, double> formats{
        {"float32", 0x1p-24}, {"bfloat16", 0x1p-9}, {"float16", 0x1p-12}, {"int8", 0.5 / 127}};
    const std::string kind = GENERATE("contiguous", "paged");
    for (const auto& [format, roundoff] : formats) {
        for (const auto& family : test::decoding_families()) {
            INFO(family.name << ", " << format << ", " << kind);
            const auto found =
                errors(family, "naive", {"cache.kind=" + kind, "cache.dtype=" + format, "cache.page_size=4"});
            INFO("cached " << found.cached << ", uncached " << found.uncached);
            // What a model makes of float32's roundoff it makes of another one in proportion.
            CHECK(found.cached <= 2.0 * found.uncached * std::max(1.0, roundoff / float32_roundoff) +
                                      products * float32_roundoff);
            if (format != "float32") CHECK(found.cached > 0.01 * roundoff);
        }
    }
}

TEST_CASE("rows whose steps are replayed have the logits of whole rows") {
    const std::string attention = GENERATE("naive", "flash");
    for (const auto& family : test::decoding_families()) {
        INFO(family.name << ", " << attention);
        const auto found =
            errors(family, attention, {"cache.step_tokens=2"}, std::make_shared<test::KeepingMaker>());
        INFO("cached " << found.cached << ", uncached " << found.uncached);
        CHECK(found.cached <= 2.0 * found.uncached + products * float32_roundoff);
    }
    const auto& family = test::decoding_families().front();
    const auto narrow = errors(family, "naive", {"cache.dtype=int8"}, std::make_shared<test::KeepingMaker>());
    CHECK(narrow.cached <=
          0.5 / 127 / float32_roundoff * (2.0 * narrow.uncached + products * float32_roundoff));
    CHECK(narrow.cached > 0.01 * 0.5 / 127);
}

TEST_CASE("a step of a cache that stays goes by its tensors, whatever the host has counted since") {
    for (const auto& family : test::decoding_families()) {
        if (family.name.find("prefix") != std::string::npos) continue;  // begins anew while it is short
        INFO(family.name);
        const c10::InferenceMode inference;
        const test::DecodingModel model(family, "naive");
        const Ids prompt = test::drawn_tokens(5, 50, 1), source = test::drawn_tokens(4, 50, 2);
        const auto begun = [&](bool stays) {
            auto cache = model.model->make_cache({2, 32, 4, stays});
            Batch batch;
            auto& grown = family.reads_source() ? batch.target : batch.source;
            if (family.reads_source()) batch.source.ids = at::tensor(source).repeat({2, 1});
            grown.ids = at::tensor(prompt).repeat({2, 1});
            model.model->prefill({}, batch, *cache);
            return cache;
        };
        const auto usual = begun(false), stays = begun(true);
        std::vector<at::Tensor> ids, right, got;
        for (std::int64_t i = 0; i < 4; ++i)
            ids.push_back(
                at::tensor(test::drawn_tokens(2, 50, 10 + static_cast<std::uint64_t>(i))).view({2, 1}));
        for (const auto& one : ids) right.push_back(model.model->decode({}, one, usual->extend(1)));
        std::vector<model::CachedStep> steps;
        for (std::size_t i = 0; i < ids.size(); ++i) steps.push_back(stays->extend(1));
        for (std::size_t i = 0; i < ids.size(); ++i) got.push_back(model.model->decode({}, ids[i], steps[i]));
        for (std::size_t i = 0; i < ids.size(); ++i) CHECK(got[i].allclose(right[i], 1e-5, 1e-5));
    }
}

TEST_CASE("a row that outgrows the cache is told with its lengths") {
    const auto& family = test::decoding_families().front();
    const test::DecodingModel model(family, "naive");
    infer::CachedRows rows(model.config, *model.model, {.rows = 0, .length = 8});
    rows.begin({{{}, test::drawn_tokens(8, 50, 1)}, {{}, test::drawn_tokens(3, 50, 2)}});
    CHECK_THROWS_WITH(rows.append({{1}, {2}}),
                      test::contains("row 0 would have 9 tokens; expected at most the 8"));
    CHECK_THROWS_WITH(rows.append({{1}}), test::contains("there are 2 rows, got tokens for 1"));
    CHECK_THROWS_WITH(rows.append({{1}, {}}), test::contains("each row gets as many tokens"));
    CHECK_THROWS_WITH(rows.begin({{{}, {}}}), test::contains("row 0 begins with no token"));
    CHECK_THROWS_WITH(rows.begin({{{}, test::drawn_tokens(9, 50, 1)}}), test::contains("row 0 would have 9"));
}

TEST_CASE("a decoding step in steady state asks the system for no memory") {
    machine::install_cpu_allocator(config::Allocator::caching);
    const std::string kind = GENERATE("contiguous", "paged");
    const std::string dtype = GENERATE("auto", "bfloat16", "float16", "int8");
    const bool beams = GENERATE(false, true);
    for (const auto& family : test::decoding_families()) {
        INFO(family.name << ", " << kind << ", " << dtype << (beams ? ", beams" : ""));
        // Rows take a new page at every fourth token.
        const test::DecodingModel model(
            family, "flash",
            {"cache.kind=" + kind, "cache.dtype=" + dtype, "cache.page_size=4", "batch.max_length=64"});
        // As generation says it, which knows how many samples a prompt has.
        infer::CachedRows rows(model.config, *model.model, {.rows = 4, .length = 64});
        const auto drawn = [](std::int64_t count) { return test::drawn_tokens(count, 50, 1); };
        const auto source = family.reads_source() ? drawn(5) : Ids{};
        rows.begin({{source, drawn(7)}, {source, drawn(9)}});
        rows.select({0, 0, 1, 1});  // samples of one prompt
        const auto grow = [&](int steps) {
            for (int step = 0; step < steps; ++step) {
                if (beams) rows.select({1, 0, 2, 2});
                rows.append({{1}, {2}, {3}, {4}});
            }
        };
        grow(8);
        const auto before = machine::cpu_memory_stats();
        grow(24);
        const auto after = machine::cpu_memory_stats();
        CHECK(after.allocations > before.allocations);
        // The table of pages grows with its rows, by six pages of four bytes for each of four rows, and so
        // comes to sizes that were never asked for.
        const bool pages = kind == "paged";
        CHECK(after.system_allocations <= before.system_allocations + (pages ? 8 : 0));
        CHECK(after.live_bytes <= before.live_bytes + (pages ? 4 * 6 * 4 : 0));
    }
}

TEST_CASE("a T5 projects what its encoder made to keys and values once for each prompt") {
    // By layer's projection, how often it was called.
    struct Counts final : runtime::CallObserver {
        std::map<std::string, int> calls;
        void observe(const runtime::ObservedCall& call) override { ++calls[std::string(call.place)]; }
    };
    for (const auto& family : test::decoding_families()) {
        if (!family.reads_source()) continue;
        INFO(family.name);
        const test::DecodingModel model(family, "naive");
        infer::CachedRows rows(model.config, *model.model);
        Counts counts;
        const runtime::ObserveCalls observing(counts);
        const auto layers = model.config.model.decoder_layers;
        REQUIRE(layers > 0);
        const auto of_each = [&](const std::string& projection) {
            std::set<int> found;
            for (std::int64_t layer = 0; layer < layers; ++layer)
                found.insert(counts.calls["decoder." + std::to_string(layer) + "." + projection]);
            return found;
        };
        for (int prompts = 1; prompts <= 2; ++prompts) {
            rows.begin({{test::drawn_tokens(6, 50, 1), {0}}, {test::drawn_tokens(4, 50, 2), {0}}});
            rows.select({0, 1, 1});
            for (int step = 0; step < 5; ++step) {
                rows.append({{1}, {2}, {3}});
                rows.select({2, 1, 0});
            }
            CHECK(of_each("cross.k") == std::set{prompts});
            CHECK(of_each("cross.v") == std::set{prompts});
            CHECK(of_each("cross.q") == std::set{6 * prompts});
            CHECK(of_each("attention.k") == std::set{6 * prompts});
        }
    }
}

TEST_CASE("a cache that the machine has no memory for is refused with its size") {
    const auto& family = test::decoding_families().front();
    const test::DecodingModel model(family, "naive");
    const infer::Beginning beginning{{}, {1}};
    constexpr std::int64_t huge = std::int64_t{1} << 40;
    // Whoever knows what is going to begin is told at once.
    CHECK_THROWS_AS(infer::CachedRows(model.config, *model.model, {.rows = 1, .length = huge}),
                    base::InputError);
    infer::CachedRows rows(model.config, *model.model, {.rows = 0, .length = huge});
    CHECK_THROWS_AS(rows.begin({beginning}), base::InputError);
}

TEST_CASE("a cache of what was said before is as large as the plan says, and stays through forks") {
    const std::string kind = GENERATE("contiguous", "paged");
    const std::string dtype = GENERATE("auto", "int8");
    for (const auto& family : test::decoding_families()) {
        INFO(family.name << ", " << kind << ", " << dtype);
        const test::DecodingModel model(
            family, "naive",
            {"cache.kind=" + kind, "cache.dtype=" + dtype, "cache.page_size=4", "batch.size=6"});
        model::CacheLimits limits{.rows = 6, .length = 15, .begun = 2, .added = 8};
        if (family.reads_source()) limits.source = 5;
        std::int64_t told = 0;
        for (const auto& shape : model::planned_caches(model.config, model.resolved, limits))
            told += shape.bytes();
        infer::CachedRows rows(model.config, *model.model, limits);
        CHECK(rows.cache_bytes() == told);
        const auto source = family.reads_source() ? test::drawn_tokens(5, 50, 1) : Ids{};
        for (int batch = 0; batch < 2; ++batch) {
            rows.begin({{source, test::drawn_tokens(7, 50, 2)}, {source, test::drawn_tokens(4, 50, 3)}});
            rows.select({0, 0, 0, 1, 1, 1});
            for (int step = 0; step < 8; ++step) {
                rows.append({{1}, {2}, {3}, {4}, {5}, {6}});
                rows.select({1, 0, 2, 4, 4, 3});
            }
            CHECK(rows.cache_bytes() == told);
        }
    }
}
