// Samples to a batch, against batches written out by hand, and the exact text of every refusal.
// To add a case: samples, parameters, and what the batch must hold.
#include <switchyard/reference/collate.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include <switchyard_test.h>

using namespace switchyard;
using reference::collate;

namespace {

using Numbers = std::vector<std::int64_t>;

LoaderParams params_of(Layout layout, std::int64_t max_length = 0) {
    LoaderParams params;
    params.layout = layout;
    params.pad_id = 9;
    params.max_length = max_length;
    return params;
}

const LoaderParams padded = params_of(Layout::padded);
const LoaderParams packed = params_of(Layout::packed);

Sample sample_of(Numbers ids, Numbers labels = {}) {
    Sample sample;
    sample.ids = std::move(ids);
    sample.labels = std::move(labels);
    return sample;
}

Sample made_of(Numbers ids, Numbers documents, Numbers labels = {}) {
    Sample sample = sample_of(std::move(ids), std::move(labels));
    sample.documents = std::move(documents);
    return sample;
}

// Row after row; {} for an undefined tensor.
std::vector<Numbers> rows(const at::Tensor& tensor) {
    std::vector<Numbers> all;
    if (!tensor.defined()) return all;
    const at::Tensor matrix = tensor.dim() == 1 ? tensor.unsqueeze(0) : tensor;
    for (std::int64_t row = 0; row < matrix.size(0); ++row) {
        all.emplace_back();
        for (std::int64_t i = 0; i < matrix.size(1); ++i)
            all.back().push_back(matrix[row][i].item<std::int64_t>());
    }
    return all;
}

using Rows = std::vector<Numbers>;

const std::vector<Sample> three = {sample_of({1, 2, 3}, {7}), sample_of({4}, {8}), sample_of({5, 6}, {9})};
const Numbers who = {20, 10, 30};

}  // namespace

TEST_CASE("padded samples stand in rows, the pad id beside them") {
    const Batch batch = collate(three, who, padded, false);
    CHECK(batch.source.ids.scalar_type() == at::kLong);
    CHECK(rows(batch.source.ids) == Rows{{1, 2, 3}, {4, 9, 9}, {5, 6, 9}});
    CHECK(batch.source.tokens.layout == Layout::padded);
    CHECK(batch.source.tokens.lengths.scalar_type() == at::kInt);
    CHECK(rows(batch.source.tokens.lengths) == Rows{{3, 1, 2}});
    CHECK_FALSE(batch.source.tokens.cu_seqlens.defined());
    CHECK_FALSE(batch.source.tokens.positions.defined());
    CHECK(batch.source.count == 6);
    CHECK_FALSE(batch.source.token_type_ids.defined());
    CHECK_FALSE(batch.target.ids.defined());
    CHECK(rows(batch.labels) == Rows{{7, 8, 9}});
    CHECK(batch.samples == who);
}

TEST_CASE("full rows need no lengths") {
    const Batch batch = collate({sample_of({1, 2}), sample_of({3, 4})}, {0, 1}, padded, false);
    CHECK(rows(batch.source.ids) == Rows{{1, 2}, {3, 4}});
    CHECK_FALSE(batch.source.tokens.lengths.defined());
    CHECK(batch.source.count == 4);
    CHECK_FALSE(batch.labels.defined());
}

TEST_CASE("packed samples lie end to end, positions counting anew in each") {
    const Batch batch = collate(three, who, packed, false);
    CHECK(rows(batch.source.ids) == Rows{{1, 2, 3, 4, 5, 6}});
    const Tokens& tokens = batch.source.tokens;
    CHECK(tokens.layout == Layout::packed);
    CHECK(tokens.cu_seqlens.scalar_type() == at::kInt);
    CHECK(rows(tokens.cu_seqlens) == Rows{{0, 3, 4, 6}});
    CHECK(tokens.positions.scalar_type() == at::kLong);
    CHECK(rows(tokens.positions) == Rows{{0, 1, 2, 0, 0, 1}});
    CHECK(tokens.max_seqlen == 3);
    CHECK_FALSE(tokens.lengths.defined());
    CHECK(batch.source.count == 6);
    CHECK(rows(batch.labels) == Rows{{7, 8, 9}});
}

TEST_CASE("labels of tokens lie as the ids do, -100 beside them") {
    const std::vector<Sample> samples = {sample_of({1, 2, 3}, {11, -100, 13}), sample_of({4}, {14})};
    CHECK(rows(collate(samples, {0, 1}, padded, true).labels) == Rows{{11, -100, 13}, {14, -100, -100}});
    CHECK(rows(collate(samples, {0, 1}, packed, true).labels) == Rows{{11, -100, 13, 14}});
}

TEST_CASE("float labels stand in a row for each sample, in both layouts") {
    Sample first = sample_of({1, 2, 3}), second = sample_of({4});
    first.float_labels = {0.5F, -2.0F};
    second.float_labels = {7.0F, std::numeric_limits<float>::quiet_NaN()};
    for (const auto& params : {padded, packed}) {
        const at::Tensor labels = collate({first, second}, {0, 1}, params, false).float_labels;
        CHECK(labels.scalar_type() == at::kFloat);
        CHECK((labels.dim() == 2 && labels.size(0) == 2 && labels.size(1) == 2));
        CHECK(labels[0][0].item<float>() == 0.5F);
        CHECK(labels[0][1].item<float>() == -2.0F);
        CHECK(labels[1][0].item<float>() == 7.0F);
        CHECK(std::isnan(labels[1][1].item<float>()));
        CHECK_FALSE(collate({first, second}, {0, 1}, params, false).labels.defined());
    }
    CHECK_FALSE(collate(three, who, padded, false).float_labels.defined());
}

TEST_CASE("float labels that do not fit are refused, naming the sample") {
    Sample first = sample_of({1, 2, 3}), second = sample_of({4});
    first.float_labels = {0.5F, -2.0F};
    second.float_labels = {7.0F};
    CHECK_THROWS_WITH(collate({first, second}, {10, 11}, padded, false),
                      "data loader: sample 11 has 1 float labels, expected 2 as the first of its batch");
    second.float_labels = {};
    CHECK_THROWS_WITH(collate({first, second}, {10, 11}, padded, false),
                      "data loader: sample 11 has 0 float labels, expected 2 as the first of its batch");
    second.float_labels = {1.0F, 2.0F};
    second.labels = {3};
    CHECK_THROWS_WITH(collate({second}, {11}, padded, false),
                      "data loader: sample 11 has both labels and float labels");
    Sample documents = sample_of({1, 2});
    documents.documents = {1, 1};
    documents.float_labels = {1.0F};
    CHECK_THROWS_WITH(collate({documents}, {5}, packed, false),
                      "data loader: sample 5 is made of documents and has float labels");
}

TEST_CASE("longer samples are cut with their token_type_ids and labels") {
    Sample sample = sample_of({1, 2, 3}, {11, 12, 13});
    sample.token_type_ids = {0, 0, 1};
    Sample other = sample_of({4}, {14});
    other.token_type_ids = {1};
    const Batch in_rows = collate({sample, other}, {0, 1}, params_of(Layout::padded, 2), true);
    CHECK(rows(in_rows.source.ids) == Rows{{1, 2}, {4, 9}});
    CHECK(rows(in_rows.source.token_type_ids) == Rows{{0, 0}, {1, 0}});
    CHECK(rows(in_rows.labels) == Rows{{11, 12}, {14, -100}});
    CHECK(in_rows.source.count == 3);
    const Batch end_to_end = collate({sample, other}, {0, 1}, params_of(Layout::packed, 2), true);
    CHECK(rows(end_to_end.source.token_type_ids) == Rows{{0, 0, 1}});
    CHECK(rows(end_to_end.source.tokens.cu_seqlens) == Rows{{0, 2, 3}});
    CHECK(rows(end_to_end.labels) == Rows{{11, 12, 14}});
}

TEST_CASE("a second sequence is a side of its own, and the labels are its") {
    Sample first = sample_of({1, 2, 3}, {21, 22});
    first.target_ids = {5, 6};
    Sample second = sample_of({4}, {23, 24, 25});
    second.target_ids = {7, 8, 9};
    const Batch in_rows = collate({first, second}, {0, 1}, padded, true);
    CHECK(rows(in_rows.source.ids) == Rows{{1, 2, 3}, {4, 9, 9}});
    CHECK(rows(in_rows.target.ids) == Rows{{5, 6, 9}, {7, 8, 9}});
    CHECK(rows(in_rows.target.tokens.lengths) == Rows{{2, 3}});
    CHECK(in_rows.target.count == 5);
    CHECK(rows(in_rows.labels) == Rows{{21, 22, -100}, {23, 24, 25}});
    const Batch end_to_end = collate({first, second}, {0, 1}, params_of(Layout::packed, 2), true);
    CHECK(rows(end_to_end.target.ids) == Rows{{5, 6, 7, 8}});
    CHECK(rows(end_to_end.target.tokens.cu_seqlens) == Rows{{0, 2, 4}});
    CHECK(rows(end_to_end.labels) == Rows{{21, 22, 23, 24}});
}

TEST_CASE("empty samples are empty sequences") {
    const std::vector<Sample> samples = {sample_of({}, {}), sample_of({1, 2}, {3, 4})};
    const Batch end_to_end = collate(samples, {0, 1}, packed, true);
    CHECK(rows(end_to_end.source.tokens.cu_seqlens) == Rows{{0, 0, 2}});
    CHECK(rows(end_to_end.labels) == Rows{{3, 4}});
    CHECK(rows(collate(samples, {0, 1}, padded, true).source.tokens.lengths) == Rows{{0, 2}});
}

TEST_CASE("an empty sample says nothing of token_type_ids and labels, wherever it stands") {
    Sample with = sample_of({1, 2}, {3, 4});
    with.token_type_ids = {0, 1};
    const Sample without = sample_of({5}), empty = sample_of({});
    const Batch batch = collate({empty, with, empty}, {0, 1, 2}, packed, true);
    CHECK(rows(batch.source.token_type_ids) == Rows{{0, 1}});
    CHECK(rows(batch.labels) == Rows{{3, 4}});
    CHECK_THROWS_WITH(collate({empty, with, without}, {0, 1, 41}, packed, true),
                      "data loader: sample 41 has no token_type_ids, unlike the first of its batch");
    Sample labelled = without;
    labelled.labels = {6};
    CHECK_THROWS_WITH(collate({empty, without, labelled}, {0, 1, 41}, packed, true),
                      "data loader: sample 41 has labels, unlike the first of its batch");
}

TEST_CASE("each document of a packed sample is a sequence of its own") {
    const std::vector<Sample> samples = {made_of({1, 2, 3, 4, 5}, {2, 3}, {11, 12, 13, 14, 15}),
                                         sample_of({6, 7}, {16, 17})};
    const Batch batch = collate(samples, {40, 50}, packed, true);
    CHECK(rows(batch.source.ids) == Rows{{1, 2, 3, 4, 5, 6, 7}});
    CHECK(rows(batch.source.tokens.cu_seqlens) == Rows{{0, 2, 5, 7}});
    CHECK(rows(batch.source.tokens.positions) == Rows{{0, 1, 0, 1, 2, 0, 1}});
    CHECK(batch.source.tokens.max_seqlen == 3);
    CHECK(rows(batch.labels) == Rows{{11, 12, 13, 14, 15, 16, 17}});
    CHECK(batch.samples == Numbers{40, 40, 50});
}

TEST_CASE(
    "a sample of documents is cut as a whole: the last document is shortened, those behind it are left out") {
    Sample sample = made_of({1, 2, 3, 4, 5, 6}, {2, 3, 1});
    sample.token_type_ids = {0, 1, 0, 1, 0, 1};
    const Batch batch = collate({sample}, {40}, params_of(Layout::packed, 3), false);
    CHECK(rows(batch.source.ids) == Rows{{1, 2, 3}});
    CHECK(rows(batch.source.token_type_ids) == Rows{{0, 1, 0}});
    CHECK(rows(batch.source.tokens.cu_seqlens) == Rows{{0, 2, 3}});
    CHECK(batch.samples == Numbers{40, 40});
    CHECK_FALSE(batch.labels.defined());
}

TEST_CASE("samples are got from the source as of their epoch") {
    class Source final : public SampleSource {
    public:
        std::int64_t size() const override { return 3; }
        std::int64_t length(std::int64_t) const override { return 2; }
        Sample get(std::int64_t index, std::int64_t epoch) const override {
            return sample_of({index, epoch}, {epoch});
        }
    };
    const Batch batch = reference::make_batch(Source(), {2, 0}, 5, padded, false);
    CHECK(rows(batch.source.ids) == Rows{{2, 5}, {0, 5}});
    CHECK(rows(batch.labels) == Rows{{5, 5}});
    CHECK(batch.samples == Numbers{2, 0});
}

TEST_CASE("parts of a sample that do not fit each other are refused") {
    Sample token_type_ids = sample_of({1, 2});
    token_type_ids.token_type_ids = {0};
    CHECK_THROWS_WITH(collate({token_type_ids}, {41}, padded, false),
                      "data loader: sample 41 has 1 token_type_ids for 2 ids");
    CHECK_THROWS_WITH(collate({sample_of({1, 2}, {3, 4})}, {41}, padded, false),
                      "data loader: sample 41 has 2 labels, expected 1");
    CHECK_THROWS_WITH(collate({sample_of({1, 2}, {3})}, {41}, padded, true),
                      "data loader: sample 41 has 1 labels, expected 2");
    Sample target = sample_of({1, 2}, {3, 4});
    target.target_ids = {5, 6, 7};
    CHECK_THROWS_WITH(collate({target}, {41}, padded, true),
                      "data loader: sample 41 has 2 labels, expected 3");
    CHECK_THROWS_AS(collate({token_type_ids}, {41}, padded, false), std::invalid_argument);
}

TEST_CASE("samples that do not fit the first of their batch are refused") {
    const Sample plain = sample_of({1, 2});
    const auto text = [](const Sample& first, const Sample& second) -> std::string {
        try {
            collate({first, second}, {40, 41}, padded, false);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "taken";
    };
    Sample token_type_ids = plain, target = plain, labels = plain;
    token_type_ids.token_type_ids = {0, 1};
    target.target_ids = {5};
    labels.labels = {3};
    CHECK(text(plain, token_type_ids) ==
          "data loader: sample 41 has token_type_ids, unlike the first of its batch");
    CHECK(text(token_type_ids, plain) ==
          "data loader: sample 41 has no token_type_ids, unlike the first of its batch");
    CHECK(text(plain, target) == "data loader: sample 41 has a target, unlike the first of its batch");
    CHECK(text(target, plain) == "data loader: sample 41 has no target, unlike the first of its batch");
    CHECK(text(plain, labels) == "data loader: sample 41 has labels, unlike the first of its batch");
    CHECK(text(labels, plain) == "data loader: sample 41 has no labels, unlike the first of its batch");
}

TEST_CASE("documents that cannot be kept apart are refused") {
    CHECK_THROWS_WITH(
        collate({made_of({1, 2}, {1, 1})}, {41}, padded, false),
        "data loader: sample 41 is made of documents, which the padded layout cannot keep apart; expected "
        "the packed layout");
    Sample target = made_of({1, 2}, {1, 1});
    target.target_ids = {5};
    CHECK_THROWS_WITH(collate({target}, {41}, packed, false),
                      "data loader: sample 41 is made of documents and has a target");
    CHECK_THROWS_WITH(
        collate({made_of({1, 2}, {1, 1}, {3})}, {41}, packed, false),
        "data loader: sample 41 is made of documents and has 1 labels, expected one for each token");
    CHECK_THROWS_WITH(collate({made_of({1, 2}, {2, 0})}, {41}, packed, false),
                      "data loader: sample 41 has a document of 0 tokens");
    CHECK_THROWS_WITH(collate({made_of({1, 2}, {3, -1})}, {41}, packed, false),
                      "data loader: sample 41 has a document of -1 tokens");
    CHECK_THROWS_WITH(collate({made_of({1, 2}, {2, 1})}, {41}, packed, false),
                      "data loader: sample 41 has documents of 3 tokens together, but 2 ids");
}

TEST_CASE("sizes that make no batches are refused") {
    class Source final : public SampleSource {
    public:
        explicit Source(std::int64_t size) : size_(size) {}
        std::int64_t size() const override { return size_; }
        std::int64_t length(std::int64_t) const override { return 1; }
        Sample get(std::int64_t, std::int64_t) const override { return sample_of({1}); }

    private:
        std::int64_t size_;
    };
    CHECK_THROWS_WITH(reference::check_loader(Source(0), padded), "data loader: the data set is empty");
    LoaderParams params = padded;
    params.batch_size = 0;
    CHECK_THROWS_WITH(reference::check_loader(Source(1), params),
                      "data loader: batch_size must be 1 or more, got 0");
    params = padded;
    params.rank = 2;
    params.world_size = 2;
    CHECK_THROWS_WITH(reference::check_loader(Source(1), params),
                      "data loader: rank 2 is not one of 2 ranks");
    params.rank = -1;
    CHECK_THROWS_WITH(reference::check_loader(Source(1), params),
                      "data loader: rank -1 is not one of 2 ranks");
    params.rank = 0;
    params.world_size = 0;
    CHECK_THROWS_WITH(reference::check_loader(Source(1), params),
                      "data loader: rank 0 is not one of 0 ranks");
    CHECK_NOTHROW(reference::check_loader(Source(1), padded));
}
