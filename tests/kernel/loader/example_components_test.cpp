// What `plugins verify` cannot know of two examples: the rule by which patient_fp16 scales the loss, and that
// length_buckets puts samples of like length together.
#include <algorithm>
#include <array>
#include <map>

#include <switchyard/interfaces/data_loader.h>
#include <switchyard/interfaces/precision.h>
#include "example_component.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

Options patient_options() {
    Options options;
    options.set("keep", std::vector<std::string>{"*.attention.out", "lm_head"});
    options.set("attention", std::string("float32"));
    options.set("init_scale", 8.0);
    options.set("min_scale", 2.0);
    options.set("growth_interval", std::int64_t{3});
    options.set("patience", std::int64_t{2});
    return options;
}

// As many samples as lengths, all of one token.
class Lengths final : public SampleSource {
public:
    explicit Lengths(std::vector<std::int64_t> lengths) : lengths_(std::move(lengths)) {}
    std::int64_t size() const override { return std::ssize(lengths_); }
    std::int64_t length(std::int64_t index) const override { return lengths_.at(index); }
    Sample get(std::int64_t index, std::int64_t) const override {
        Sample sample;
        sample.ids.assign(static_cast<std::size_t>(length(index)), 1);
        sample.labels = {0};
        return sample;
    }

private:
    std::vector<std::int64_t> lengths_;
};

}  // namespace

TEST_CASE("the example policy halves its loss scale once its patience is at an end") {
    PrecisionRequest request;
    request.loss_scaling = true;
    const auto policy = make_example<Precision>("patient_fp16", request, patient_options());
    CHECK(policy->loss_scale() == 8.0);
    struct Step {
        bool found_inf;
        double scale;
    };
    const Step steps[] = {
        {true, 8.0},                               // forgiven
        {true, 4.0},  {false, 4.0}, {true, 2.0},   // no more of that
        {true, 2.0},                               // min_scale
        {false, 2.0}, {false, 2.0}, {false, 4.0},  // three in a row: doubled, and the patience is whole
        {true, 4.0},  {false, 4.0}, {false, 4.0}, {false, 8.0}, {true, 8.0}, {true, 4.0},
    };
    for (const Step& step : steps) {
        policy->update(step.found_inf);
        CHECK(policy->loss_scale() == step.scale);
    }
    // A state without patience is taken over as it is, and one of no use leaves everything as it was.
    const auto other = make_example<Precision>("patient_fp16", request, patient_options());
    other->load(policy->state());
    other->update(true);
    CHECK(other->loss_scale() == 2.0);
    CHECK_THROWS_WITH(other->load({}), contains("loss_scale"));
    CHECK(other->loss_scale() == 2.0);
}

TEST_CASE("the example policy says what computes in float16, and what it was told to leave alone") {
    const PrecisionRequest request;
    const auto policy = make_example<Precision>("patient_fp16", request, patient_options());
    const auto in = [&](OpClass op, const char* layer) { return policy->compute(op, layer); };
    CHECK(in(OpClass::linear, "decoder.0.attention.q") == DType::float16);
    CHECK(in(OpClass::linear, "decoder.0.attention.out") == DType::float32);
    CHECK(in(OpClass::activation, "decoder.0") == DType::float16);
    CHECK(in(OpClass::attention, "decoder.0") == DType::float32);
    CHECK(in(OpClass::normalization, "decoder.0") == DType::float32);
    CHECK(in(OpClass::loss, "classifier") == DType::float16);
    CHECK(in(OpClass::loss, "lm_head") == DType::float32);
    CHECK(policy->storage(OpClass::linear, "decoder.0.attention.q") == DType::float32);
    CHECK(policy->loss_scale() == 1.0);
}

TEST_CASE("batches of the example data loader are of one bucket, but for what is left at the end") {
    std::vector<std::int64_t> lengths;
    for (std::int64_t i = 0; i < 101; ++i) lengths.push_back(1 + i * i % 37);
    const Lengths source(lengths);
    constexpr std::int64_t batch_size = 3, width = 8;
    Options options;
    options.set("bucket_width", width);
    for (const std::int64_t ranks : {1, 2}) {
        INFO("ranks " << ranks);
        std::map<std::int64_t, std::int64_t> counts;
        for (const std::int64_t length : lengths) ++counts[(length - 1) / width];
        std::int64_t whole = 0;  // batches of all ranks whose samples are of one bucket
        for (const auto& [bucket, count] : counts) whole += count / (batch_size * ranks);
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
            const DataLoaderRequest request;
            const auto loader = make_example<DataLoader>("length_buckets", request, options);
            LoaderParams params;
            params.batch_size = batch_size;
            params.rank = rank;
            params.world_size = ranks;
            loader->start(source, params);
            Batch batch;
            std::int64_t number = 0;
            for (; loader->next(batch); ++number) {
                if (number >= whole) continue;
                REQUIRE(std::ssize(batch.samples) == batch_size);
                const auto bucket = [&](std::int64_t sample) { return (lengths[sample] - 1) / width; };
                CHECK(std::all_of(batch.samples.begin(), batch.samples.end(), [&](std::int64_t sample) {
                    return bucket(sample) == bucket(batch.samples[0]);
                }));
            }
            CHECK(number >= whole);
            CHECK(loader->position().epoch == 1);
        }
    }
}
