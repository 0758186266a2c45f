// The data loader that a plan chose. What the source of samples throws comes out as it was thrown, not as the
// plugin's error. Contract: <switchyard/interfaces/data_loader.h>.
#pragma once

#include <memory>

#include <switchyard/interfaces/data_loader.h>
#include "core/kernel/resolver/plan.h"
#include "core/kernel/runtime/binding.h"

namespace switchyard::model {

class DataLoaderOp {
public:
    DataLoaderOp(const host::LoadedComponent& loaded, host::BindingInfo info,
                 const resolver::Composed& composed = {});

    // `source` outlives the operation.
    void start(const SampleSource& source, const LoaderParams& params) const;
    std::int64_t batches() const;
    // Loaders make their batches on the CPU; here they come to the device that the plan was made for.
    bool next(Batch& batch) const;
    LoaderPosition position() const;
    void seek(const LoaderPosition& position) const;

    const host::BindingBase& binding() const { return *binding_; }

private:
    class WatchedSource;

    std::shared_ptr<WatchedSource> source_;  // outlives the component
    std::shared_ptr<host::Binding<DataLoader>> binding_;
};

}  // namespace switchyard::model
