// Batches of samples of like length: Khomenko, Shyshkov, Radyvonenko, Bokhan 2016, "Accelerating recurrent
// neural network training using sequence bucketing and multi-GPU data parallelization" (arXiv:1708.05604).
//
// Samples come in the shuffled order of the epoch, and each goes into the bucket of its length. A bucket that
// has as many as all ranks take in a step is a batch, and is empty again. What is left in the buckets at the
// end is laid end to end, short ones first, and cut into batches.
//
// How many samples a bucket gets does not depend on their order, so that each epoch has as many batches.
#pragma once

#include <cstdint>
#include <vector>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/data_loader.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/verdict.h>

class LengthBuckets final : public switchyard::DataLoader {
public:
    explicit LengthBuckets(const switchyard::CreateInfo& info);

    static switchyard::Verdict supports(const switchyard::DataLoaderRequest& request,
                                        const switchyard::HostInfo& host, const switchyard::Options& options);

    void start(const switchyard::SampleSource& source, const switchyard::LoaderParams& params) override;
    std::int64_t batches(std::int64_t epoch) const override;
    bool next(switchyard::Batch& batch) override;
    // All that there is to save: the batches of an epoch are a function of seed and epoch.
    switchyard::LoaderPosition position() const override;
    void seek(const switchyard::LoaderPosition& position) override;

    void* query(std::string_view question) override {
        return switchyard::component_property(question, {{switchyard::thread_counts_property, ""}});
    }

private:
    using Indices = std::vector<std::int64_t>;

    std::int64_t bucket_of(std::int64_t index) const;
    // This rank's part of every batch of an epoch.
    std::vector<Indices> compose(std::int64_t epoch) const;

    std::int64_t bucket_width_;
    bool labels_per_token_;
    const switchyard::SampleSource* source_ = nullptr;
    switchyard::LoaderParams params_;
    std::int64_t batches_ = 0;
    switchyard::LoaderPosition position_;
    std::vector<Indices> composed_;
    std::int64_t composed_epoch_ = -1;  // the epoch that composed_ is of
};
