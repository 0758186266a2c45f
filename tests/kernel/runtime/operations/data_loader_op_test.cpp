// Whose fault it is: errors of the source of samples come out as they are, those of the loader with the
// plugin's name.
#include <stdexcept>
#include <thread>

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

DataLoaderOp bound(const FakeComponent<DataLoader, OneByOne>& fake) {
    runtime::BindingInfo info;
    info.slot = "data_loader";
    info.request = std::make_shared<DataLoaderRequest>();
    return DataLoaderOp(fake.loaded(), info);
}

}  // namespace

TEST_CASE("batches come through, and a bad sample is the source's error, even from a worker") {
    const FakeComponent<DataLoader, OneByOne> fake(GradientMode::none);
    const DataLoaderOp loader = bound(fake);
    const Rows rows;
    loader.start(rows, {});
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
    const Rows rows;
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
