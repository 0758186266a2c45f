// The data loader that a plan chose. What the source of samples throws comes out as it was thrown, not as the
// plugin's error. Contract: <switchyard/interfaces/data_loader.h>.
#pragma once

#include <memory>
#include <optional>

#include <switchyard/interfaces/data_loader.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"

namespace switchyard::runtime {

// What a loader gave since it was started, or between two moments.
struct LoaderStats {
    std::int64_t batches = 0;
    std::int64_t samples = 0;
    std::int64_t tokens = 0;    // of source and target
    std::int64_t places = 0;    // tokens and padding
    double wait_seconds = 0.0;  // that next() took
    std::int64_t ready = -1;    // batches that were made ahead, summed up over calls of next(); -1: not known

    double padding_share() const;
    double tokens_per_batch() const;
    std::optional<double> ready_per_batch() const;  // mean length of the queue when a batch was asked for
};

// What came between two looks at the statistics of one loader.
LoaderStats operator-(const LoaderStats& later, const LoaderStats& earlier);

class DataLoaderOp {
public:
    DataLoaderOp(const LoadedComponent& loaded, BindingInfo info, const resolver::Composed& composed = {});

    // May be called again: the component, which is started once, is then made anew. `source` is kept until
    // the component that reads it, perhaps ahead on its threads, is gone: until the next start, or until the
    // last copy of the operation is.
    void start(std::shared_ptr<const SampleSource> source, const LoaderParams& params) const;
    std::int64_t batches(std::int64_t epoch) const;
    Composition composition() const { return composition_; }
    // Loaders make their batches on the CPU; here they come to the device that the plan was made for: pinned
    // ones are copied while the device computes.
    bool next(Batch& batch) const;
    // How many samples at the end of the batch that `next` gave last only fill it up: of several ranks'
    // batches in the reference's order, other ranks or batches have them.
    std::int64_t last_repeated() const { return state_->last_repeated; }
    LoaderPosition position() const;
    void seek(const LoaderPosition& position) const;

    const LoaderStats& stats() const { return *stats_; }

    const BindingBase& binding() const { return *binding_; }

private:
    class WatchedSource;

    struct State {
        std::shared_ptr<WatchedSource> source;  // empty before the first start
        LoaderParams params;
        std::int64_t size = 0;
        std::int64_t last_repeated = 0;
    };

    const WatchedSource& source() const;

    std::shared_ptr<State> state_ = std::make_shared<State>();  // its source outlives the component
    std::shared_ptr<Binding<DataLoader>> binding_;
    Composition composition_;
    std::shared_ptr<LoaderStats> stats_ = std::make_shared<LoaderStats>();
};

}  // namespace switchyard::runtime
