// What conformance does not see of the plugin batching: how full its batches are, and that workers change
// nothing. The contract itself is held by tests/plugins/builtin.
#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

#include <ATen/ops/equal.h>

#include <switchyard/interfaces/data_loader.h>

#include "builtin.h"
#include "sanitized.h"

#include <switchyard_test.h>

using namespace switchyard;
using switchyard::test::contains;

namespace {

// Lengths with a long tail, as molecules and reviews have them.
class Ragged final : public SampleSource {
public:
    explicit Ragged(std::int64_t size) {
        std::mt19937_64 random(5);
        std::lognormal_distribution<double> lengths(3.4, 0.6);
        for (std::int64_t i = 0; i < size; ++i)
            lengths_.push_back(std::clamp<std::int64_t>(std::llround(lengths(random)), 4, 512));
    }
    std::int64_t bad = -1;  // this sample cannot be read

    std::int64_t size() const override { return std::ssize(lengths_); }
    std::int64_t length(std::int64_t index) const override { return lengths_[index]; }
    Sample get(std::int64_t index, std::int64_t) const override {
        if (index == bad) throw std::runtime_error("sample " + std::to_string(index) + " is broken");
        Sample sample;
        sample.ids.assign(static_cast<std::size_t>(lengths_[index]), index);
        sample.labels = {index % 3};
        return sample;
    }

private:
    std::vector<std::int64_t> lengths_;
};

DataLoaderRequest request_of(const LoaderParams& params) {
    DataLoaderRequest request;
    request.layout = params.layout;
    request.token_budget = params.token_budget;
    return request;
}

struct Made {
    std::unique_ptr<DataLoaderRequest> request;  // outlives the loader
    test::Made<DataLoader> loader;
    DataLoader* operator->() const { return loader.operator->(); }
    DataLoader& operator*() const { return *loader; }
};

Made make(const std::string& id, const LoaderParams& params, const Options& options) {
    auto request = std::make_unique<DataLoaderRequest>(request_of(params));
    auto loader = test::make<DataLoader>("batching", id, *request, "", options);
    return {std::move(request), std::move(loader)};
}

Options options_of(std::int64_t workers) {
    Options options;
    options.set("workers", workers);
    return options;
}

LoaderParams budget(Layout layout, std::int64_t tokens) {
    LoaderParams params;
    params.layout = layout;
    params.token_budget = tokens;
    params.batch_size = 100000;
    params.max_length = 512;
    params.seed = 3;
    return params;
}

// Real tokens over all places, of one epoch.
double fill(DataLoader& loader, std::int64_t budget_tokens) {
    std::int64_t tokens = 0, places = 0;
    for (Batch batch; loader.next(batch);) {
        tokens += batch.source.count;
        places += budget_tokens > 0 ? budget_tokens : batch.source.ids.numel();
    }
    return static_cast<double>(tokens) / static_cast<double>(places);
}

bool same(const Batch& a, const Batch& b) {
    return a.samples == b.samples && at::equal(a.source.ids, b.source.ids) && at::equal(a.labels, b.labels);
}

}  // namespace

TEST_CASE("packed fills the budget to 97 percent and more") {
    const Ragged source(20000);
    for (const std::int64_t tokens : {2048, 8192, 32768}) {
        const auto params = budget(Layout::packed, tokens);
        const auto loader = make("packed", params, options_of(0));
        loader->start(source, params);
        CHECK(fill(*loader, tokens) > 0.97);
    }
}

TEST_CASE("bucketed pads little, far less than random batches do") {
    const Ragged source(20000);
    auto params = budget(Layout::padded, 0);
    params.batch_size = 64;
    const auto bucketed = make("bucketed", params, options_of(0));
    bucketed->start(source, params);
    CHECK(fill(*bucketed, 0) > 0.9);
    const auto padded = make("padded", params, options_of(0));
    padded->start(source, params);
    CHECK(fill(*padded, 0) < 0.5);
}

TEST_CASE("fixed gives every batch one shape") {
    const Ragged source(100);
    auto params = budget(Layout::padded, 0);
    params.batch_size = 10;
    const auto loader = make("fixed", params, options_of(0));
    loader->start(source, params);
    int batches = 0;
    for (Batch batch; loader->next(batch); ++batches)
        CHECK(batch.source.ids.sizes().vec() == std::vector<std::int64_t>{10, 512});
    CHECK(batches == 10);
    auto options = options_of(0);
    options.set("length", std::int64_t{48});
    const auto shorter = make("fixed", params, options);
    params.token_budget = 200;
    shorter->start(source, params);
    Batch batch;
    REQUIRE(shorter->next(batch));
    CHECK(batch.source.ids.sizes().vec() == std::vector<std::int64_t>{4, 48});
}

TEST_CASE("batches that do not come out even over ranks are halved, and single samples come twice") {
    // The samples that both ranks get in one epoch.
    const auto dealt = [](std::int64_t size, std::int64_t batch_size, bool drop_last) {
        const Ragged source(size);
        auto params = budget(Layout::padded, 0);
        params.batch_size = batch_size;
        params.shuffle = false;
        params.drop_last = drop_last;
        params.world_size = 2;
        std::vector<std::int64_t> all;
        for (params.rank = 0; params.rank < params.world_size; ++params.rank) {
            const auto loader = make("fixed", params, options_of(0));
            loader->start(source, params);
            CHECK(loader->batches(0) == (drop_last ? 1 : 2));
            for (Batch batch; loader->next(batch);)
                all.insert(all.end(), batch.samples.begin(), batch.samples.end());
        }
        std::ranges::sort(all);
        return all;
    };
    CHECK(dealt(3, 1, false) == std::vector<std::int64_t>{0, 0, 1, 2});
    CHECK(dealt(3, 1, true) == std::vector<std::int64_t>{0, 1});
    CHECK(dealt(6, 2, false) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("any number of workers gives the same batches, and a seek starts anew") {
    const Ragged source(500);
    for (const char* id : {"padded", "fixed", "bucketed", "packed"}) {
        CAPTURE(id);
        const bool packed = id == std::string("packed");
        auto params = budget(packed ? Layout::packed : Layout::padded, packed ? 700 : 0);
        params.batch_size = 8;
        const auto alone = make(id, params, options_of(0));
        alone->start(source, params);
        std::vector<Batch> all;
        for (Batch batch; alone->next(batch);) all.push_back(batch);
        CHECK(std::ssize(all) == alone->batches(0));
        CHECK(alone->ready() == -1);
        for (const std::int64_t workers : {1, 3}) {
            const auto loader = make(id, params, options_of(workers));
            loader->start(source, params);
            for (const std::int64_t begin : {0, 7}) {
                loader->seek({0, begin});
                for (std::int64_t i = begin; i < std::ssize(all); ++i) {
                    Batch batch;
                    REQUIRE(loader->next(batch));
                    REQUIRE(same(batch, all[i]));
                    CHECK(loader->ready() >= 0);
                }
            }
            // Asked in the middle of an epoch for the number of another, whose composition differs.
            loader->seek({0, 2});
            Batch batch;
            REQUIRE(loader->next(batch));
            CHECK(loader->batches(1) > 0);
            REQUIRE(loader->next(batch));
            CHECK(same(batch, all[3]));
        }
    }
}

// Threads that are started get a stack for which there is no memory, until it goes out of scope.
class NoMoreThreads {
public:
    NoMoreThreads() { ::pthread_getattr_default_np(&usual_); }
    ~NoMoreThreads() {
        ::pthread_setattr_default_np(&usual_);
        ::pthread_attr_destroy(&usual_);
    }
    NoMoreThreads(const NoMoreThreads&) = delete;
    NoMoreThreads& operator=(const NoMoreThreads&) = delete;

    static void begin() {
        pthread_attr_t huge;
        ::pthread_attr_init(&huge);
        ::pthread_attr_setstacksize(&huge, std::size_t{1} << 50);
        ::pthread_setattr_default_np(&huge);
        ::pthread_attr_destroy(&huge);
    }

private:
    pthread_attr_t usual_{};
};

TEST_CASE("worker threads that cannot be started are an error that names workers, and the loader lives on") {
    if (test::sanitized) return test::skip("built with a sanitizer: it starts threads in its own way");
    // The first thread that reads a sample sees to it that no other one starts.
    class Last final : public SampleSource {
    public:
        std::int64_t size() const override { return samples_.size(); }
        std::int64_t length(std::int64_t index) const override { return samples_.length(index); }
        Sample get(std::int64_t index, std::int64_t epoch) const override {
            if (last) NoMoreThreads::begin();
            return samples_.get(index, epoch);
        }
        bool last = false;

    private:
        const Ragged samples_{2000};
    };
    Last source;
    auto params = budget(Layout::padded, 0);
    params.batch_size = 4;
    const auto loader = make("padded", params, options_of(256));
    loader->start(source, params);
    Batch batch;
    {
        const NoMoreThreads none;
        NoMoreThreads::begin();
        CHECK_THROWS_WITH(loader->next(batch), contains("workers is 256, and no more than 0 threads"));
    }
    source.last = true;
    bool told = false;
    for (int attempt = 0; attempt < 50 && !told; ++attempt) {  // all may be there before the first one reads
        const NoMoreThreads some;
        loader->seek({0, 0});
        try {
            loader->next(batch);
        } catch (const std::runtime_error& problem) {
            told = true;
            CHECK_THAT(problem.what(), contains("workers is 256, and no more than "));
        }
        loader->seek({0, 0});  // ends the threads
    }
    CHECK(told);
    source.last = false;
    CHECK(loader->next(batch));
}

TEST_CASE("a sample that a worker cannot read is its own error, and the loader stays at that batch") {
    Ragged source(100);
    auto params = budget(Layout::packed, 1000);
    const auto loader = make("packed", params, options_of(2));
    loader->start(source, params);
    std::vector<Batch> all;
    for (Batch batch; loader->next(batch);) all.push_back(batch);
    REQUIRE(all.size() >= 3);
    source.bad = all[2].samples[1];
    loader->seek({0, 0});
    Batch batch;
    REQUIRE(loader->next(batch));
    REQUIRE(loader->next(batch));
    CHECK_THROWS_WITH(loader->next(batch), contains("is broken"));
    CHECK(loader->position().batch == 2);
    source.bad = -1;
    REQUIRE(loader->next(batch));
    CHECK(same(batch, all[2]));
    CHECK_THROWS_WITH(loader->seek({0, 1000}), contains("batch 1000 of epoch 0 is not one of"));
}

TEST_CASE("loaders refuse what they do not do, and say what does") {
    DataLoaderRequest request;
    request.token_budget = 100;
    const auto reasons = [&](const char* id) {
        return test::refusals(test::component(Kind::data_loader, "batching", id), request);
    };
    CHECK(reasons("padded") ==
          "token_budget: expected none: batches are so many samples; bucketed takes one, got 100");
    CHECK(reasons("bucketed").empty());
    CHECK(reasons("packed") == "layout: expected packed, got padded");
    request.layout = Layout::packed;
    CHECK(reasons("fixed") == "layout: expected padded, got packed");
}
