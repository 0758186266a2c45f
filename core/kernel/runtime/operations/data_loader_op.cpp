#include "core/kernel/runtime/operations/data_loader_op.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <type_traits>
#include <utility>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/epoch_order.h>
#include "core/kernel/runtime/operations/check.h"
#include "core/kernel/runtime/operations/move_batch.h"
#include "core/kernel/runtime/plugin_library.h"

namespace switchyard::runtime {

// Passes samples on, and remembers what went wrong with the first one that could not be had, on whichever
// thread of the loader.
class DataLoaderOp::WatchedSource final : public SampleSource {
public:
    explicit WatchedSource(std::shared_ptr<const SampleSource> source) : source_(std::move(source)) {}

    std::int64_t size() const override { return source_->size(); }
    std::int64_t length(std::int64_t index) const override {
        return watched([&] { return source_->length(index); });
    }
    std::int64_t target_length(std::int64_t index) const override {
        return watched([&] { return source_->target_length(index); });
    }
    Sample get(std::int64_t index, std::int64_t epoch) const override {
        return watched([&] { return source_->get(index, epoch); });
    }

    std::exception_ptr take_error() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return std::exchange(error_, nullptr);
    }

private:
    template <class Call>
    std::invoke_result_t<Call> watched(const Call& call) const {
        try {
            return call();
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (error_ == nullptr) error_ = std::current_exception();
            throw;
        }
    }

    std::shared_ptr<const SampleSource> source_;
    mutable std::mutex mutex_;
    mutable std::exception_ptr error_;
};

namespace {

template <class Source, class Call>
decltype(auto) call_loader(const BindingBase& binding, const Source& source, const char* name,
                           const Call& call) {
    try {
        return binding.run(name, call);
    } catch (const PluginError&) {
        if (const std::exception_ptr error = source.take_error()) std::rethrow_exception(error);
        throw;
    }
}

void count(LoaderStats& stats, const Batch& batch) {
    ++stats.batches;
    for (std::size_t i = 0; i < batch.samples.size(); ++i)  // documents of one sample follow each other
        stats.samples += i == 0 || batch.samples[i] != batch.samples[i - 1] ? 1 : 0;
    for (const TokenBatch* side : {&batch.source, &batch.target}) {
        if (!side->ids.defined()) continue;
        stats.tokens += side->count;
        stats.places += side->ids.numel();
    }
}

}  // namespace

double LoaderStats::padding_share() const {
    return places > 0 ? static_cast<double>(places - tokens) / static_cast<double>(places) : 0.0;
}

double LoaderStats::tokens_per_batch() const {
    return static_cast<double>(tokens) / static_cast<double>(std::max<std::int64_t>(batches, 1));
}

std::optional<double> LoaderStats::ready_per_batch() const {
    if (ready < 0) return std::nullopt;
    return static_cast<double>(ready) / static_cast<double>(std::max<std::int64_t>(batches, 1));
}

LoaderStats operator-(const LoaderStats& later, const LoaderStats& earlier) {
    LoaderStats between = later;
    between.batches -= earlier.batches;
    between.samples -= earlier.samples;
    between.tokens -= earlier.tokens;
    between.places -= earlier.places;
    between.wait_seconds -= earlier.wait_seconds;
    if (later.ready >= 0) between.ready -= std::max<std::int64_t>(earlier.ready, 0);
    return between;
}

DataLoaderOp::DataLoaderOp(const LoadedComponent& loaded, BindingInfo info,
                           const resolver::Composed& composed)
    : binding_(std::make_shared<Binding<DataLoader>>(loaded, std::move(info))),
      composition_(loaded.manifest->composition) {
    for (const std::string& part : composed) refuse(*binding_, "cannot be composed with '", part, "'");
}

const DataLoaderOp::WatchedSource& DataLoaderOp::source() const {
    require(*binding_, state_->source != nullptr, "is used before it was started");
    return *state_->source;
}

void DataLoaderOp::start(std::shared_ptr<const SampleSource> source, const LoaderParams& params) const {
    require(*binding_, params.layout == binding_->request().layout, "the layout is ", name(params.layout),
            ", bound for ", name(binding_->request().layout));
    DataLoader& loader = binding_->fresh();
    *stats_ = {};
    const auto size = source->size();
    *state_ = {std::make_shared<WatchedSource>(std::move(source)), params, size, 0};
    const WatchedSource& watched = *state_->source;
    call_loader(*binding_, watched, "data_loader.start", [&] { loader.start(watched, params); });
}

std::int64_t DataLoaderOp::batches(std::int64_t epoch) const {
    return call_loader(*binding_, source(), "data_loader.batches",
                       [&] { return binding_->interface().batches(epoch); });
}

bool DataLoaderOp::next(Batch& batch) const {
    const auto start = std::chrono::steady_clock::now();
    const bool shared = state_->params.world_size > 1 && composition_ == Composition::reference;
    const auto number = shared ? position().batch : 0;
    const auto [more, ready] = call_loader(*binding_, source(), "data_loader.next", [&] {
        const std::int64_t ready = binding_->interface().ready();
        return std::pair(binding_->interface().next(batch), ready);
    });
    const Device device = binding_->request().device;
    if (more && device != Device::cpu) move_batch(batch, to_device_type(device));
    stats_->wait_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!more) return false;
    count(*stats_, batch);
    state_->last_repeated = shared ? reference::repeated_samples(state_->size, state_->params, number) : 0;
    if (ready >= 0) stats_->ready = std::max<std::int64_t>(stats_->ready, 0) + ready;
    return true;
}

LoaderPosition DataLoaderOp::position() const {
    return call_loader(*binding_, source(), "data_loader.position",
                       [&] { return binding_->interface().position(); });
}

void DataLoaderOp::seek(const LoaderPosition& position) const {
    call_loader(*binding_, source(), "data_loader.seek", [&] { binding_->interface().seek(position); });
}

}  // namespace switchyard::runtime
