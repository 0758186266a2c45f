// The plain data loader: makes each batch when it is asked for, on the calling thread.
#pragma once

#include <vector>

#include <switchyard/interfaces/data_loader.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>

namespace switchyard {

class NaiveDataLoader final : public DataLoader {
public:
    explicit NaiveDataLoader(const CreateInfo& info);

    static Verdict supports(const DataLoaderRequest& request, const HostInfo& host, const Options& options);
    void start(const SampleSource& source, const LoaderParams& params) override;
    std::int64_t batches(std::int64_t) const override { return batches_; }
    bool next(Batch& batch) override;
    LoaderPosition position() const override { return position_; }
    void seek(const LoaderPosition& position) override;

private:
    const SampleSource* source_ = nullptr;
    LoaderParams params_;
    std::int64_t batches_ = 0;
    bool labels_per_token_;
    LoaderPosition position_;
    std::vector<std::int64_t> order_;
    std::int64_t order_epoch_ = -1;  // the epoch that order_ is of
};

}  // namespace switchyard
