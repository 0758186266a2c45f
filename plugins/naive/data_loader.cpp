#include "data_loader.h"

#include <stdexcept>
#include <string>

#include <switchyard/interfaces/require.h>
#include <switchyard/reference/collate.h>
#include <switchyard/reference/epoch_order.h>

namespace switchyard {

NaiveDataLoader::NaiveDataLoader(const CreateInfo& info)
    : DataLoader(info),
      labels_per_token_(KindTraits<Kind::data_loader>::request(*info.request).labels_per_token) {}

Verdict NaiveDataLoader::supports(const DataLoaderRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    REQUIRE(verdict, request.token_budget == 0, Code::Composition, "token_budget",
            "none: batches are so many samples", request.token_budget);
    return verdict;
}

void NaiveDataLoader::start(const SampleSource& source, const LoaderParams& params) {
    reference::check_loader(source, params);
    source_ = &source;
    params_ = params;
    batches_ = reference::epoch_batches(source.size(), params);
    position_ = {};
    order_epoch_ = -1;
}

bool NaiveDataLoader::next(Batch& batch) {
    if (position_.batch >= batches_) {
        position_ = {position_.epoch + 1, 0};
        return false;
    }
    if (order_epoch_ != position_.epoch) {
        order_ = reference::epoch_order(source_->size(), params_, position_.epoch);
        order_epoch_ = position_.epoch;
    }
    batch = reference::make_batch(*source_, reference::batch_samples(order_, params_, position_.batch),
                                  position_.epoch, params_, labels_per_token_);
    executed();
    ++position_.batch;
    return true;
}

void NaiveDataLoader::seek(const LoaderPosition& position) {
    if (position.epoch < 0 || position.batch < 0 || position.batch > batches_) {
        throw std::invalid_argument("naive data loader: batch " + std::to_string(position.batch) +
                                    " of epoch " + std::to_string(position.epoch) + " is not one of " +
                                    std::to_string(batches_));
    }
    position_ = position;
}

}  // namespace switchyard
