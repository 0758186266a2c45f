#include "length_buckets.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include <switchyard/interfaces/require.h>
#include <switchyard/reference/collate.h>
#include <switchyard/reference/epoch_order.h>

using namespace switchyard;

LengthBuckets::LengthBuckets(const CreateInfo& info)
    : DataLoader(info),
      bucket_width_(info.options.integer("bucket_width")),
      labels_per_token_(KindTraits<Kind::data_loader>::request(*info.request).labels_per_token) {}

Verdict LengthBuckets::supports(const DataLoaderRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    REQUIRE(verdict, request.layout == Layout::padded, Code::Layout, "layout",
            "padded (packed rows have no padding to save)", name(request.layout));
    REQUIRE(verdict, request.token_budget == 0, Code::Composition, "token_budget",
            "none: batches are of batch.size samples", request.token_budget);
    return verdict;
}

void LengthBuckets::start(const SampleSource& source, const LoaderParams& params) {
    reference::check_loader(source, params);
    source_ = &source;
    params_ = params;
    position_ = {};
    composed_ = compose(0);
    composed_epoch_ = 0;
    batches_ = std::ssize(composed_);
}

std::int64_t LengthBuckets::bucket_of(std::int64_t index) const {
    const std::int64_t target = source_->target_length(index);
    const auto cut = [&](std::int64_t length) {
        return params_.max_length > 0 ? std::min(length, params_.max_length) : length;
    };
    const std::int64_t tokens = cut(source_->length(index) - target) + cut(target);
    return std::max<std::int64_t>(tokens - 1, 0) / bucket_width_;
}

std::vector<LengthBuckets::Indices> LengthBuckets::compose(std::int64_t epoch) const {
    // The order of all samples, whatever the ranks: they deal out the same batches.
    LoaderParams everything = params_;
    everything.rank = 0;
    everything.world_size = 1;
    everything.drop_last = false;
    const Indices order = reference::epoch_order(source_->size(), everything, epoch);

    const std::int64_t ranks = params_.world_size, step = params_.batch_size * ranks;
    std::vector<Indices> own;
    // `samples` are as many for each rank; this one takes its part.
    const auto deal = [&](const Indices& samples) {
        const std::int64_t each = std::ssize(samples) / ranks;
        const auto begin = samples.begin() + params_.rank * each;
        own.emplace_back(begin, begin + each);
    };
    std::map<std::int64_t, Indices> buckets;
    for (const std::int64_t index : order) {
        Indices& bucket = buckets[bucket_of(index)];
        bucket.push_back(index);
        if (std::ssize(bucket) < step) continue;
        deal(bucket);
        bucket.clear();
    }
    Indices rest;
    for (const auto& [number, bucket] : buckets) rest.insert(rest.end(), bucket.begin(), bucket.end());
    std::int64_t dealt = 0;
    for (; dealt + step <= std::ssize(rest); dealt += step)
        deal(Indices(rest.begin() + dealt, rest.begin() + dealt + step));
    Indices last(rest.begin() + dealt, rest.end());
    if (last.empty() || params_.drop_last) return own;
    // Filled up with samples that come again, fewer than there are ranks, so that all have equally many.
    for (std::size_t i = 0; std::ssize(last) % ranks != 0; ++i) last.push_back(order[i % order.size()]);
    deal(last);
    return own;
}

std::int64_t LengthBuckets::batches(std::int64_t /*epoch*/) const { return batches_; }

bool LengthBuckets::next(Batch& batch) {
    if (position_.batch >= batches_) {
        position_ = {position_.epoch + 1, 0};
        return false;
    }
    if (composed_epoch_ != position_.epoch) {
        composed_ = compose(position_.epoch);
        composed_epoch_ = position_.epoch;
    }
    batch = reference::make_batch(*source_, composed_[static_cast<std::size_t>(position_.batch)],
                                  position_.epoch, params_, labels_per_token_);
    executed();
    ++position_.batch;
    return true;
}

LoaderPosition LengthBuckets::position() const { return position_; }

void LengthBuckets::seek(const LoaderPosition& position) {
    if (position.epoch < 0 || position.batch < 0 || position.batch > batches_)
        throw std::invalid_argument("length_buckets: batch " + std::to_string(position.batch) + " of epoch " +
                                    std::to_string(position.epoch) + " is not one of " +
                                    std::to_string(batches_));
    position_ = position;
}
