// The loaders of this plugin: each says which samples go into which batch; making them ahead is the same for
// all.
#pragma once

#include <memory>
#include <optional>

#include <switchyard/interfaces/data_loader.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>
#include "composition.h"
#include "pipeline.h"

namespace switchyard {

class BatchingLoader : public DataLoader {
public:
    explicit BatchingLoader(const CreateInfo& info);

    void start(const SampleSource& source, const LoaderParams& params) override;
    std::int64_t batches(std::int64_t epoch) const override;
    bool next(Batch& batch) override;
    LoaderPosition position() const override { return position_; }
    void seek(const LoaderPosition& position) override;
    std::int64_t ready() const override;

protected:
    // Of one rank. `order`: the samples of the epoch, of all ranks.
    virtual batching::Batches compose(std::int64_t epoch) const = 0;
    // What the batches are made with.
    virtual LoaderParams shape(const LoaderParams& params) const { return params; }

    const SampleSource& source() const { return *source_; }
    const LoaderParams& params() const { return params_; }
    // Of the epoch, of all ranks, in the order of the reference.
    batching::Indices order_of(std::int64_t epoch) const;
    const batching::SampleLengths& lengths() const;

private:
    struct Epoch {
        std::int64_t number = -1;
        batching::Batches batches;
    };

    const batching::Batches& batches_of(std::int64_t epoch) const;

    const SampleSource* source_ = nullptr;
    LoaderParams params_;
    std::int64_t workers_, prefetch_;
    bool labels_per_token_;
    mutable std::optional<batching::SampleLengths> lengths_;
    mutable Epoch composed_;
    LoaderPosition position_;
    std::unique_ptr<batching::Pipeline> pipeline_;  // from the position on to the end of the epoch
};

class PaddedLoader final : public BatchingLoader {
public:
    using BatchingLoader::BatchingLoader;
    static Verdict supports(const DataLoaderRequest& request, const HostInfo& host, const Options& options);

private:
    batching::Batches compose(std::int64_t epoch) const override;
};

class FixedLoader final : public BatchingLoader {
public:
    explicit FixedLoader(const CreateInfo& info);
    static Verdict supports(const DataLoaderRequest& request, const HostInfo& host, const Options& options);

private:
    batching::Batches compose(std::int64_t epoch) const override;
    LoaderParams shape(const LoaderParams& params) const override;

    std::int64_t length_;
};

class BucketedLoader final : public BatchingLoader {
public:
    explicit BucketedLoader(const CreateInfo& info);
    static Verdict supports(const DataLoaderRequest& request, const HostInfo& host, const Options& options);

private:
    batching::Batches compose(std::int64_t epoch) const override;

    std::int64_t window_;
};

class PackedLoader final : public BatchingLoader {
public:
    explicit PackedLoader(const CreateInfo& info);
    static Verdict supports(const DataLoaderRequest& request, const HostInfo& host, const Options& options);

private:
    batching::Batches compose(std::int64_t epoch) const override;

    std::int64_t window_;
};

}  // namespace switchyard
