#include "core/workbench/train/nonfinite_trace.h"

#include <sstream>
#include <string_view>

#include <ATen/ops/isfinite.h>

#include <switchyard/interfaces/torch_types.h>
#include "core/kernel/runtime/binding.h"
#include "core/workbench/train/nonfinite.h"

namespace switchyard::train {
namespace {

// A bias on scores is -Inf where a mask stands in it, and so is the log-sum-exp of a row that sees nothing.
bool may_be_infinite(std::string_view name) { return name == "dense_bias" || name == "lse"; }

std::string operation_of(const runtime::ObservedCall& call) {
    const auto& binding = call.binding;
    const std::string what = std::string_view(call.call).starts_with("linear.") ? "linear" : binding.slot();
    return std::string(call.place.empty() ? "model" : call.place) + ": " + what + " (" + binding.plugin() +
           "/" + binding.component() + ")";
}

}  // namespace

void NonfiniteTrace::begin_step() {
    const std::lock_guard<std::mutex> lock(mutex_);
    first_.reset();
}

std::optional<NonfiniteFinding> NonfiniteTrace::first() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return first_;
}

void NonfiniteTrace::look(const runtime::ObservedCall& call, const char* what,
                          const runtime::ObservedTensor& tensor) {
    const auto& value = tensor.value;
    if (first_ || !value.is_floating_point() || may_be_infinite(tensor.name)) return;
    if (at::isfinite(value).all().item<bool>()) return;
    std::ostringstream text;
    const auto dtype = from_scalar_type(value.scalar_type());
    text << operation_of(call) << ", " << what << " " << tensor.name << ": " << nonfinite_counts(value)
         << ", " << (dtype ? std::string(name(*dtype)) : c10::toString(value.scalar_type())) << " "
         << value.sizes();
    first_ = NonfiniteFinding{text.str(), call.pass == runtime::Pass::forward};
}

void NonfiniteTrace::observe(const runtime::ObservedCall& call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    static constexpr const char* in[] = {"forward input", "backward, on arrival the gradient of",
                                         "step, given the"};
    static constexpr const char* out[] = {"forward output", "backward, gradient of", "step, made the"};
    const auto pass = static_cast<std::size_t>(call.pass);
    for (const auto& tensor : call.inputs) look(call, in[pass], tensor);
    for (const auto& tensor : call.outputs) look(call, out[pass], tensor);
}

}  // namespace switchyard::train
