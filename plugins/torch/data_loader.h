// LibTorch's own data loader: worker threads make batches ahead, which come out in order.
#pragma once

#include <memory>
#include <vector>

#include <switchyard/interfaces/data_loader.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class TorchDataLoader final : public DataLoader {
public:
    explicit TorchDataLoader(const CreateInfo& info);
    ~TorchDataLoader() override;

    static Verdict supports(const DataLoaderRequest& request, const HostInfo& host, const Options& options);
    void start(const SampleSource& source, const LoaderParams& params) override;
    std::int64_t batches(std::int64_t) const override { return batches_; }
    bool next(Batch& batch) override;
    LoaderPosition position() const override { return position_; }
    void seek(const LoaderPosition& position) override;

private:
    struct Running;  // LibTorch's loader and its iterator, from the position on to the end of the epoch

    const SampleSource* source_ = nullptr;
    LoaderParams params_;
    std::int64_t batches_ = 0;
    std::int64_t workers_;
    std::int64_t prefetch_;
    bool labels_per_token_;
    LoaderPosition position_;
    std::unique_ptr<Running> running_;
};

}  // namespace switchyard
