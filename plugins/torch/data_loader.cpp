// LibTorch's loader can only start at the beginning of what its sampler gives, and can't be restarted before
// it is exhausted. So the sampler is given the rest of an epoch, and a loader lives as long as that: a seek
// makes a new one.
#include "data_loader.h"

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <torch/data/dataloader.h>

#include <switchyard/reference/collate.h>
#include <switchyard/reference/epoch_order.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {
namespace {

using Indices = std::vector<std::int64_t>;

// LibTorch's loader takes any class with a batch type and get_batch; each worker has its own copy.
class Batches {
public:
    using BatchType = Batch;

    Batches(const SampleSource& source, std::int64_t epoch, const LoaderParams& params, bool labels_per_token)
        : source_(&source), epoch_(epoch), params_(params), labels_per_token_(labels_per_token) {}

    Batch get_batch(Indices indices) {
        return reference::make_batch(*source_, std::move(indices), epoch_, params_, labels_per_token_);
    }

private:
    const SampleSource* source_;
    std::int64_t epoch_;
    LoaderParams params_;
    bool labels_per_token_;
};

class RestOfEpoch {
public:
    using BatchRequestType = Indices;

    RestOfEpoch(Indices order, const LoaderParams& params, std::int64_t begin, std::int64_t end)
        : order_(std::move(order)), params_(params), begin_(begin), batch_(begin), end_(end) {}

    void reset() { batch_ = begin_; }
    std::optional<Indices> next(std::size_t) {
        if (batch_ >= end_) return std::nullopt;
        return reference::batch_samples(order_, params_, batch_++);
    }

private:
    Indices order_;
    LoaderParams params_;
    std::int64_t begin_, batch_, end_;
};

torch::data::DataLoaderOptions loader_options(std::int64_t workers, std::int64_t prefetch) {
    torch::data::DataLoaderOptions options(1);  // the sampler gives whole batches
    options.workers(static_cast<std::size_t>(workers));
    if (workers > 0) options.max_jobs(static_cast<std::size_t>(workers * prefetch));
    return options;
}

}  // namespace

struct TorchDataLoader::Running {
    torch::data::StatelessDataLoader<Batches, RestOfEpoch> loader;
    torch::data::Iterator<Batch> iterator;
    torch::data::Iterator<Batch> end;

    Running(Batches batches, RestOfEpoch rest, const torch::data::DataLoaderOptions& options)
        : loader(batches, std::move(rest), options), iterator(loader.begin()), end(loader.end()) {}
};

TorchDataLoader::TorchDataLoader(const CreateInfo& info)
    : DataLoader(info),
      workers_(info.options.integer("workers")),
      prefetch_(info.options.integer("prefetch")),
      labels_per_token_(KindTraits<Kind::data_loader>::request(*info.request).labels_per_token) {}

TorchDataLoader::~TorchDataLoader() = default;

Verdict TorchDataLoader::supports(const DataLoaderRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    REQUIRE(verdict, request.token_budget == 0, Code::Composition, "token_budget",
            "none: batches are so many samples", request.token_budget);
    return verdict;
}

void TorchDataLoader::start(const SampleSource& source, const LoaderParams& params) {
    reference::check_loader(source, params);
    running_.reset();
    source_ = &source;
    params_ = params;
    batches_ = reference::epoch_batches(source.size(), params);
    position_ = {};
}

bool TorchDataLoader::next(Batch& batch) {
    if (position_.batch >= batches_) {
        running_.reset();
        position_ = {position_.epoch + 1, 0};
        return false;
    }
    try {
        if (running_ == nullptr) {
            running_ = std::make_unique<Running>(
                Batches(*source_, position_.epoch, params_, labels_per_token_),
                RestOfEpoch(reference::epoch_order(source_->size(), params_, position_.epoch), params_,
                            position_.batch, batches_),
                loader_options(workers_, prefetch_));
        } else {
            ++running_->iterator;
        }
        if (running_->iterator == running_->end)
            throw std::logic_error("torch data loader: LibTorch's loader ended early");
        batch = std::move(*running_->iterator);
    } catch (const torch::data::WorkerException& failure) {
        running_.reset();
        std::rethrow_exception(failure.original_exception);
    } catch (...) {
        running_.reset();
        throw;
    }
    executed();
    ++position_.batch;
    return true;
}

void TorchDataLoader::seek(const LoaderPosition& position) {
    if (position.epoch < 0 || position.batch < 0 || position.batch > batches_) {
        throw std::invalid_argument("torch data loader: batch " + std::to_string(position.batch) +
                                    " of epoch " + std::to_string(position.epoch) + " is not one of " +
                                    std::to_string(batches_));
    }
    running_.reset();
    position_ = position;
}

}  // namespace switchyard
