#include "core/kernel/runtime/operations/step_weights.h"

namespace switchyard::runtime {
namespace {

StepWeights::Weight made_of(const at::Tensor& parameter, at::ScalarType dtype,
                            const StepWeights::Prepare& prepare) {
    const at::Tensor values = parameter.detach().to(dtype);
    StepWeights::Weight weight{values, prepare ? prepare(values) : PreparedWeight{}};
    if (weight.prepared.form != nullptr && weight.prepared.replaces_weight) weight.values.reset();
    return weight;
}

}  // namespace

StepWeights::Weight StepWeights::weight(const at::Tensor& parameter, at::ScalarType dtype, const void* user,
                                        const Prepare& prepare) {
    if (!parameter.defined()) return {};
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!lasting_.empty()) {
        const auto found = lasting_.find({parameter.unsafeGetTensorImpl(), user});
        if (found != lasting_.end()) return found->second.weight;
    }
    if (parameter.is_inference()) return made_of(parameter, dtype, prepare);
    auto& held = held_[{parameter.const_data_ptr(), user}];
    const bool same = held.source.defined() && held.version == parameter._version() && held.dtype == dtype &&
                      held.source.sizes() == parameter.sizes() &&
                      held.source.strides() == parameter.strides();
    if (!same) held = {parameter.detach(), parameter._version(), dtype, made_of(parameter, dtype, prepare)};
    return held.weight;
}

at::Tensor StepWeights::cast(const at::Tensor& parameter, at::ScalarType dtype) {
    if (!parameter.defined() || parameter.scalar_type() == dtype) return parameter;
    return weight(parameter, dtype, nullptr, nullptr).values;
}

at::Tensor StepWeights::input(const at::Tensor& x, at::ScalarType dtype) {
    if (!x.defined() || x.scalar_type() == dtype) return x;
    if (x.is_inference()) return x.to(dtype);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (last_input_ && last_input_->version == x._version() &&
        last_input_->x.lock().get() == x.unsafeGetTensorImpl()) {
        if (auto kept = last_input_->cast.lock(); kept && kept->dtype().toScalarType() == dtype)
            return at::Tensor(std::move(kept));
    }
    const at::Tensor made = x.to(dtype);
    last_input_ = {WeakTensor(x.getIntrusivePtr()), WeakTensor(made.getIntrusivePtr()), x._version()};
    return made;
}

StepWeights::Weight StepWeights::quantized(const std::shared_ptr<const QuantizedWeight>& weight,
                                           const void* user, const PrepareQuantized& prepare) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& lasting = lasting_[{weight.get(), user}];
    if (lasting.weight.prepared.form == nullptr) lasting = {weight, {{}, prepare(*weight)}, true};
    return lasting.weight;
}

bool StepWeights::settle(const at::Tensor& parameter, at::ScalarType dtype, const void* user,
                         const Prepare& prepare) {
    const auto made = weight(parameter, dtype, user, prepare);
    if (made.prepared.form == nullptr || !made.prepared.replaces_weight) return false;
    const std::lock_guard<std::mutex> lock(mutex_);
    lasting_[{parameter.unsafeGetTensorImpl(), user}] = {std::make_shared<const at::Tensor>(parameter), made,
                                                         false};
    held_.erase({parameter.const_data_ptr(), user});
    return true;
}

std::int64_t StepWeights::read_bytes(const at::Tensor& parameter) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, lasting] : lasting_) {
        if (key.first == parameter.unsafeGetTensorImpl()) return lasting.weight.prepared.bytes;
    }
    for (const auto& [key, held] : held_) {
        if (key.first != parameter.const_data_ptr()) continue;
        if (held.weight.prepared.form != nullptr) return held.weight.prepared.bytes;
        return static_cast<std::int64_t>(held.weight.values.nbytes());
    }
    return static_cast<std::int64_t>(parameter.nbytes());
}

std::int64_t StepWeights::quantized_bytes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::int64_t bytes = 0;
    for (const auto& [key, lasting] : lasting_)
        bytes += lasting.quantized ? lasting.weight.prepared.bytes : 0;
    return bytes;
}

void StepWeights::forget() {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_.clear();
}

void StepWeights::forget(const at::Tensor& parameter) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(held_, [&](const auto& held) {
        return held.second.source.defined() && held.second.source.is_alias_of(parameter);
    });
}

}  // namespace switchyard::runtime
