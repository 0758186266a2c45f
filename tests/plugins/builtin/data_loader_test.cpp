// Both loaders give the same batches in the same order. To add a case: parameters, and what the batches must
// hold.
#include "builtin.h"

#include <stdexcept>

#include <ATen/ops/equal.h>
#include <ATen/ops/max.h>

#include <switchyard/interfaces/data_loader.h>

#include <switchyard_test.h>

using namespace switchyard;
using switchyard::test::contains;

namespace {

// Sample i has 1 + i % 7 tokens 100 i, 100 i + 1, ..., 10,000 more in each further epoch, and the label i %
// 3.
class Numbers final : public SampleSource {
public:
    std::int64_t bad = -1;  // this sample can't be read

    std::int64_t size() const override { return 23; }
    std::int64_t length(std::int64_t index) const override { return 1 + index % 7; }
    Sample get(std::int64_t index, std::int64_t epoch) const override {
        if (index == bad) throw std::runtime_error("sample " + std::to_string(index) + " is broken");
        Sample sample;
        for (std::int64_t i = 0; i < length(index); ++i)
            sample.ids.push_back(10000 * epoch + 100 * index + i);
        sample.labels = {index % 3};
        return sample;
    }
};

Options workers(std::int64_t count) {
    Options options;
    options.set("workers", count);
    return options;
}

LoaderParams params_of(Layout layout) {
    LoaderParams params;
    params.batch_size = 4;
    params.layout = layout;
    params.seed = 11;
    return params;
}

std::vector<Batch> read(DataLoader& loader, int epochs) {
    std::vector<Batch> batches;
    for (int epoch = 0; epoch < epochs; ++epoch) {
        for (Batch batch; loader.next(batch);) batches.push_back(batch);
    }
    return batches;
}

bool same(const at::Tensor& a, const at::Tensor& b) {
    return a.defined() == b.defined() && (!a.defined() || at::equal(a, b));
}

bool same(const Batch& a, const Batch& b) {
    return a.samples == b.samples && same(a.source.ids, b.source.ids) && same(a.labels, b.labels) &&
           same(a.source.tokens.lengths, b.source.tokens.lengths) &&
           same(a.source.tokens.cu_seqlens, b.source.tokens.cu_seqlens) &&
           same(a.source.tokens.positions, b.source.tokens.positions) && a.source.count == b.source.count;
}

}  // namespace

TEST_CASE("torch gives naive's batches, whatever the number of its workers") {
    const Numbers source;
    const DataLoaderRequest request;
    for (const auto layout : {Layout::padded, Layout::packed}) {
        const auto naive = test::make<DataLoader>("naive", "naive", request);
        naive->start(source, params_of(layout));
        const auto expected = read(*naive, 3);
        REQUIRE(expected.size() == 18);
        CHECK(expected[0].samples != expected[6].samples);
        CHECK(expected[17].source.ids.max().item<std::int64_t>() > 20000);
        for (const int count : {0, 1, 3}) {
            const auto torch = test::make<DataLoader>("torch", "torch", request, "", workers(count));
            torch->start(source, params_of(layout));
            const auto found = read(*torch, 3);
            REQUIRE(found.size() == expected.size());
            for (std::size_t i = 0; i < found.size(); ++i) CHECK(same(found[i], expected[i]));
        }
    }
}

TEST_CASE("a seek goes to any batch of any epoch") {
    const Numbers source;
    const DataLoaderRequest request;
    for (const std::string plugin : {"naive", "torch"}) {
        const auto loader = test::make<DataLoader>(plugin, plugin, request);
        loader->start(source, params_of(Layout::padded));
        const auto all = read(*loader, 3);
        Batch batch;
        for (const std::int64_t place : {13, 2, 17, 0}) {
            loader->seek({place / 6, place % 6});
            REQUIRE(loader->next(batch));
            CHECK(same(batch, all[place]));
            CHECK(loader->position().epoch == place / 6);
            CHECK(loader->position().batch == place % 6 + 1);
        }
        loader->seek({1, 6});
        CHECK_FALSE(loader->next(batch));
        CHECK(loader->position().epoch == 2);
        CHECK_THROWS_WITH(loader->seek({0, 7}), contains("batch 7 of epoch 0 is not one of 6"));
    }
}

TEST_CASE("a sample that can't be read is its own error, and the loader stays at that batch") {
    Numbers source;
    const DataLoaderRequest request;
    for (const std::string plugin : {"naive", "torch"}) {
        const auto loader = test::make<DataLoader>(plugin, plugin, request);
        loader->start(source, params_of(Layout::padded));
        const auto all = read(*loader, 1);
        loader->seek({0, 0});
        source.bad = all[3].samples[1];
        Batch batch;
        for (int i = 0; i < 3; ++i) REQUIRE(loader->next(batch));
        CHECK_THROWS_WITH(loader->next(batch),
                          contains("sample " + std::to_string(source.bad) + " is broken"));
        CHECK(loader->position().batch == 3);
        source.bad = -1;
        REQUIRE(loader->next(batch));
        CHECK(same(batch, all[3]));
    }
}

TEST_CASE("ranks share an epoch, and each takes as many samples") {
    const Numbers source;
    const DataLoaderRequest request;
    std::vector<int> seen(23, 0);
    for (int rank = 0; rank < 3; ++rank) {
        auto params = params_of(Layout::packed);
        params.rank = rank;
        params.world_size = 3;
        const auto loader = test::make<DataLoader>("torch", "torch", request);
        loader->start(source, params);
        CHECK(loader->batches(0) == 2);
        std::size_t samples = 0;
        for (const auto& batch : read(*loader, 1)) {
            samples += batch.samples.size();
            for (const auto index : batch.samples) ++seen[index];
        }
        CHECK(samples == 8);
    }
    int twice = 0;
    for (const int times : seen) {
        CHECK(times >= 1);
        twice += times - 1;
    }
    CHECK(twice == 1);
}

TEST_CASE("loaders refuse what makes no batches") {
    const Numbers source;
    const DataLoaderRequest request;
    for (const std::string plugin : {"naive", "torch"}) {
        const auto loader = test::make<DataLoader>(plugin, plugin, request);
        auto params = params_of(Layout::padded);
        params.batch_size = 0;
        CHECK_THROWS_WITH(loader->start(source, params), contains("batch_size must be 1 or more, got 0"));
        params = params_of(Layout::padded);
        params.rank = 2;
        params.world_size = 2;
        CHECK_THROWS_WITH(loader->start(source, params), contains("rank 2 is not one of 2 ranks"));
    }
}
