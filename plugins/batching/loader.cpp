#include "loader.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include <switchyard/reference/collate.h>
#include <switchyard/reference/epoch_order.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {
namespace {

void require_layout(Verdict& verdict, const DataLoaderRequest& request, Layout layout) {
    REQUIRE(verdict, request.layout == layout, Code::Layout, "layout", name(layout), name(request.layout));
}

// Into page-locked memory, from which it can be copied to the device while that computes.
void pin(Batch& batch) {
    for (TokenBatch* side : {&batch.source, &batch.target}) {
        for (at::Tensor* tensor : {&side->ids, &side->token_type_ids, &side->tokens.lengths,
                                   &side->tokens.cu_seqlens, &side->tokens.positions}) {
            if (tensor->defined()) *tensor = tensor->pin_memory();
        }
    }
    for (at::Tensor* labels : {&batch.labels, &batch.float_labels}) {
        if (labels->defined()) *labels = labels->pin_memory();
    }
}

}  // namespace

BatchingLoader::BatchingLoader(const CreateInfo& info)
    : DataLoader(info),
      workers_(info.options.integer("workers")),
      prefetch_(info.options.integer("prefetch")),
      labels_per_token_(KindTraits<Kind::data_loader>::request(*info.request).labels_per_token) {}

void BatchingLoader::start(const SampleSource& source, const LoaderParams& params) {
    reference::check_loader(source, params);
    pipeline_.reset();
    source_ = &source;
    params_ = shape(params);
    lengths_.reset();
    composed_ = {};
    position_ = {};
}

batching::Indices BatchingLoader::order_of(std::int64_t epoch) const {
    LoaderParams all = params_;
    all.rank = 0;
    all.world_size = 1;
    return reference::epoch_order(source_->size(), all, epoch);
}

const batching::SampleLengths& BatchingLoader::lengths() const {
    if (!lengths_) lengths_ = batching::lengths_of(*source_, params_);
    return *lengths_;
}

const batching::Batches& BatchingLoader::batches_of(std::int64_t epoch) const {
    if (composed_.number != epoch) composed_ = {epoch, compose(epoch)};
    return composed_.batches;
}

std::int64_t BatchingLoader::batches(std::int64_t epoch) const {
    // Workers read the batches of the position's epoch.
    if (pipeline_ != nullptr && epoch != position_.epoch) return std::ssize(compose(epoch));
    return std::ssize(batches_of(epoch));
}

bool BatchingLoader::next(Batch& batch) {
    if (pipeline_ == nullptr) batches_of(position_.epoch);
    const auto& batches = composed_.batches;
    if (position_.batch >= std::ssize(batches)) {
        pipeline_.reset();
        position_ = {position_.epoch + 1, 0};
        return false;
    }
    try {
        if (pipeline_ == nullptr) {
            const auto make = [this, epoch = position_.epoch, &batches](std::int64_t number) {
                auto made = reference::make_batch(*source_, batches[static_cast<std::size_t>(number)], epoch,
                                                  params_, labels_per_token_);
                if (params_.pinned) pin(made);
                return made;
            };
            pipeline_ = std::make_unique<batching::Pipeline>(make, position_.batch, std::ssize(batches),
                                                             workers_, prefetch_);
        }
        batch = pipeline_->take();
    } catch (...) {
        pipeline_.reset();
        throw;
    }
    executed();
    ++position_.batch;
    return true;
}

void BatchingLoader::seek(const LoaderPosition& position) {
    pipeline_.reset();
    const auto count = position.epoch < 0 ? 0 : std::ssize(batches_of(position.epoch));
    if (position.epoch < 0 || position.batch < 0 || position.batch > count) {
        throw std::invalid_argument("data loader: batch " + std::to_string(position.batch) + " of epoch " +
                                    std::to_string(position.epoch) + " is not one of " +
                                    std::to_string(count));
    }
    position_ = position;
}

std::int64_t BatchingLoader::ready() const { return pipeline_ == nullptr ? -1 : pipeline_->ready(); }

Verdict PaddedLoader::supports(const DataLoaderRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    require_layout(verdict, request, Layout::padded);
    REQUIRE(verdict, request.token_budget == 0, Code::Composition, "token_budget",
            "none: batches are so many samples; bucketed takes one", request.token_budget);
    return verdict;
}

batching::Batches PaddedLoader::compose(std::int64_t epoch) const {
    const auto order = reference::epoch_order(source().size(), params(), epoch);
    batching::Batches batches;
    for (std::int64_t i = 0; i < reference::epoch_batches(source().size(), params()); ++i)
        batches.push_back(reference::batch_samples(order, params(), i));
    return batches;
}

FixedLoader::FixedLoader(const CreateInfo& info)
    : BatchingLoader(info), length_(info.options.integer("length")) {}

Verdict FixedLoader::supports(const DataLoaderRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    require_layout(verdict, request, Layout::padded);
    return verdict;
}

LoaderParams FixedLoader::shape(const LoaderParams& params) const {
    LoaderParams fixed = params;
    if (length_ > 0)
        fixed.max_length = params.max_length > 0 ? std::min(length_, params.max_length) : length_;
    std::int64_t longest = std::max<std::int64_t>(fixed.max_length, 1);
    for (std::int64_t i = 0; fixed.max_length <= 0 && i < source().size(); ++i) {
        const auto target = source().target_length(i);
        longest = std::max({longest, source().length(i) - target, target});
    }
    if (fixed.max_length <= 0)
        longest += (fixed.pad_multiple - longest % fixed.pad_multiple) % fixed.pad_multiple;
    fixed.pad_multiple = longest;
    return fixed;
}

batching::Batches FixedLoader::compose(std::int64_t epoch) const {
    const auto& all = lengths();
    const bool targets =
        std::any_of(all.begin(), all.end(), [](const batching::Lengths& one) { return one.target > 0; });
    const auto sample_tokens = (targets ? 2 : 1) * params().pad_multiple;
    return batching::deal(batching::cut_in_order(order_of(epoch), params(), sample_tokens), params(), epoch);
}

BucketedLoader::BucketedLoader(const CreateInfo& info)
    : BatchingLoader(info), window_(info.options.integer("window")) {}

Verdict BucketedLoader::supports(const DataLoaderRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    require_layout(verdict, request, Layout::padded);
    return verdict;
}

batching::Batches BucketedLoader::compose(std::int64_t epoch) const {
    return batching::deal(batching::bucket(order_of(epoch), lengths(), params(), window_), params(), epoch);
}

PackedLoader::PackedLoader(const CreateInfo& info)
    : BatchingLoader(info), window_(info.options.integer("window")) {}

Verdict PackedLoader::supports(const DataLoaderRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    require_layout(verdict, request, Layout::packed);
    return verdict;
}

batching::Batches PackedLoader::compose(std::int64_t epoch) const {
    return batching::deal(batching::pack(order_of(epoch), lengths(), params(), window_), params(), epoch);
}

}  // namespace switchyard
