// Whose fault it is: errors of the source of samples come out as they are, those of the loader with the
// plugin's name.
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/kernel/runtime/operations/data_loader_op.h"

#include "tests/kernel/runtime/fake_component.h"

#include <switchyard_test.h>

using namespace switchyard;
using runtime::DataLoaderOp;
using switchyard::test::FakeComponent;

namespace {

struct MalformedRow : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Rows final : public SampleSource {
public:
    std::int64_t size() const override { return 5; }
    std::int64_t length(std::int64_t index) const override { return index + 1; }
    Sample get(std::int64_t index, std::int64_t) const override {
        if (index == 3) throw MalformedRow("reviews.tsv:4: expected 2 columns, got 1");
        Sample sample;
        sample.ids.assign(static_cast<std::size_t>(index + 1), index);
        return sample;
    }
};

// One sample a batch, got on a thread of its own; what goes wrong there becomes an error of the loader's own
// making. Fails at sample 1 if told to.
class OneByOne final : public DataLoader {
public:
    using DataLoader::DataLoader;
    void start(const SampleSource& source, const LoaderParams& params) override {
        source_ = &source;
        fails_ = params.seed == 13;
    }
    std::int64_t batches(std::int64_t) const override { return source_->size(); }
    bool next(Batch& batch) override {
        if (at_ == source_->size()) return false;
        if (fails_ && at_ == 1) throw 1;
        bool failed = false;
        std::thread([&] {
            try {
                batch.source.count = static_cast<std::int64_t>(source_->get(at_, 0).ids.size());
            } catch (...) {
                failed = true;
            }
        }).join();
        if (failed) throw std::runtime_error("a worker failed");
        ++at_;
        return true;
    }
    LoaderPosition position() const override { return {0, at_}; }
    void seek(const LoaderPosition& position) override { at_ = position.batch; }

private:
    const SampleSource* source_ = nullptr;
    std::int64_t at_ = 0;
    bool fails_ = false;
};

// Reads its samples until it is gone, as a loader whose threads read ahead may, and takes the contract at its
// word: it is started once.
class ReadsToItsEnd final : public DataLoader {
public:
    using DataLoader::DataLoader;
    ~ReadsToItsEnd() override {
        if (source_ != nullptr) read_last.push_back(source_->get(0, 0).ids.at(0));
    }
    void start(const SampleSource& source, const LoaderParams& params) override {
        if (source_ != nullptr) throw std::logic_error("it was started before");
        source_ = &source;
        if (params.seed == 13) throw std::runtime_error("it cannot be started");
    }
    std::int64_t batches(std::int64_t) const override { return source_->size(); }
    bool next(Batch& batch) override {
        batch.source.count = source_->get(0, 0).ids.at(0);
        return true;
    }
    LoaderPosition position() const override { return {}; }
    void seek(const LoaderPosition&) override {}

    static inline std::vector<std::int64_t> read_last;

private:
    const SampleSource* source_ = nullptr;
};

// Tells the number that it was made with, and -1 when it is gone.
class Number final : public SampleSource {
public:
    explicit Number(std::int64_t number) : number_(number) {}
    ~Number() override { number_ = -1; }
    std::int64_t size() const override { return 1; }
    std::int64_t length(std::int64_t) const override { return 1; }
    Sample get(std::int64_t, std::int64_t) const override { return {{number_}, {}, {}, {}, {}}; }

private:
    std::int64_t number_;
};

template <class Loader>
DataLoaderOp bound(const FakeComponent<DataLoader, Loader>& fake) {
    runtime::BindingInfo info;
    info.slot = "data_loader";
    info.request = std::make_shared<DataLoaderRequest>();
    return DataLoaderOp(fake.loaded(), info);
}

}  // namespace

TEST_CASE("batches come through, and a bad sample is the source's error, even from a worker") {
    const FakeComponent<DataLoader, OneByOne> fake(GradientMode::none);
    const DataLoaderOp loader = bound(fake);
    loader.start(std::make_shared<Rows>(), {});
    CHECK(loader.batches(0) == 5);
    Batch batch;
    for (std::int64_t i = 0; i < 3; ++i) {
        REQUIRE(loader.next(batch));
        CHECK(batch.source.count == i + 1);
    }
    CHECK_THROWS_AS(loader.next(batch), MalformedRow);
    CHECK(loader.position().batch == 3);
    loader.seek({0, 4});
    CHECK(loader.next(batch));
    CHECK_FALSE(loader.next(batch));
}

TEST_CASE("a loader's own failure names the plugin") {
    const FakeComponent<DataLoader, OneByOne> fake(GradientMode::none, "acme", "one_by_one");
    const DataLoaderOp loader = bound(fake);
    const auto rows = std::make_shared<Rows>();
    LoaderParams params;
    params.seed = 13;
    loader.start(rows, params);
    Batch batch;
    CHECK(loader.next(batch));
    CHECK_THROWS_WITH(
        loader.next(batch),
        Catch::Matchers::Equals("plugin 'acme', component 'one_by_one', data_loader.next: threw the int 1"));
    params.layout = Layout::packed;
    CHECK_THROWS_WITH(loader.start(rows, params), test::contains("the layout is packed, bound for padded"));
}

TEST_CASE("a component is started once, and its samples are there until it is gone") {
    const FakeComponent<DataLoader, ReadsToItsEnd> fake(GradientMode::none);
    ReadsToItsEnd::read_last.clear();
    {
        const DataLoaderOp loader = bound(fake);
        Batch batch;
        CHECK_THROWS_WITH(loader.next(batch), test::contains("is used before it was started"));
        for (std::int64_t number = 1; number <= 3; ++number) {
            loader.start(std::make_shared<Number>(number), {});
            REQUIRE(loader.next(batch));
            CHECK(batch.source.count == number);
        }
        CHECK(ReadsToItsEnd::read_last == std::vector<std::int64_t>{1, 2});
        LoaderParams params;
        params.seed = 13;
        CHECK_THROWS_WITH(loader.start(std::make_shared<Number>(4), params),
                          test::contains("it cannot be started"));
    }
    CHECK(ReadsToItsEnd::read_last == std::vector<std::int64_t>{1, 2, 3, 4});
}
