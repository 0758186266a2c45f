#include "core/kernel/runtime/operations/data_loader_op.h"

#include <exception>
#include <mutex>
#include <type_traits>
#include <utility>

#include <switchyard/interfaces/torch_types.h>
#include "core/kernel/runtime/operations/check.h"

namespace switchyard::model {

// Passes samples on, and remembers what went wrong with the first one that could not be had, on whichever
// thread of the loader.
class DataLoaderOp::WatchedSource final : public SampleSource {
public:
    void watch(const SampleSource& source) { source_ = &source; }

    std::int64_t size() const override { return source_->size(); }
    std::int64_t length(std::int64_t index) const override {
        return watched([&] { return source_->length(index); });
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

    const SampleSource* source_ = nullptr;
    mutable std::mutex mutex_;
    mutable std::exception_ptr error_;
};

namespace {

template <class Source, class Call>
decltype(auto) call_loader(const host::BindingBase& binding, const Source& source, const char* name,
                           const Call& call) {
    try {
        return binding.run(name, call);
    } catch (const host::PluginError&) {
        if (const std::exception_ptr error = source.take_error()) std::rethrow_exception(error);
        throw;
    }
}

void move_to(at::Tensor& tensor, c10::DeviceType device) {
    if (tensor.defined()) tensor = tensor.to(device);
}

void move_to(Batch& batch, c10::DeviceType device) {
    for (TokenBatch* side : {&batch.source, &batch.target}) {
        for (at::Tensor* tensor : {&side->ids, &side->token_type_ids, &side->tokens.lengths,
                                   &side->tokens.cu_seqlens, &side->tokens.positions})
            move_to(*tensor, device);
    }
    move_to(batch.labels, device);
}

}  // namespace

DataLoaderOp::DataLoaderOp(const host::LoadedComponent& loaded, host::BindingInfo info,
                           const resolver::Composed& composed)
    : source_(std::make_shared<WatchedSource>()),
      binding_(std::make_shared<host::Binding<DataLoader>>(loaded, std::move(info))) {
    for (const std::string& part : composed) refuse(*binding_, "cannot be composed with '", part, "'");
}

void DataLoaderOp::start(const SampleSource& source, const LoaderParams& params) const {
    require(*binding_, params.layout == binding_->request().layout, "the layout is ", name(params.layout),
            ", bound for ", name(binding_->request().layout));
    source_->watch(source);
    call_loader(*binding_, *source_, "data_loader.start",
                [&] { binding_->interface().start(*source_, params); });
}

std::int64_t DataLoaderOp::batches() const {
    return call_loader(*binding_, *source_, "data_loader.batches",
                       [&] { return binding_->interface().batches(); });
}

bool DataLoaderOp::next(Batch& batch) const {
    const bool more = call_loader(*binding_, *source_, "data_loader.next",
                                  [&] { return binding_->interface().next(batch); });
    const Device device = binding_->request().device;
    if (more && device != Device::cpu) move_to(batch, to_device_type(device));
    return more;
}

LoaderPosition DataLoaderOp::position() const {
    return call_loader(*binding_, *source_, "data_loader.position",
                       [&] { return binding_->interface().position(); });
}

void DataLoaderOp::seek(const LoaderPosition& position) const {
    call_loader(*binding_, *source_, "data_loader.seek", [&] { binding_->interface().seek(position); });
}

}  // namespace switchyard::model
