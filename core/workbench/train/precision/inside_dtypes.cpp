#include "core/workbench/train/precision/inside_dtypes.h"

#include <atomic>
#include <stdexcept>

#include <ATen/core/Tensor.h>

#include "core/kernel/runtime/call_observer.h"
#include "core/kernel/runtime/guard.h"

namespace switchyard::train {
namespace {

// RecordFunction takes plain functions.
std::atomic<InsideDtypes*> installed{nullptr};

// Each name between two spaces.
constexpr std::string_view products =
    " mm addmm bmm baddbmm matmul linear addbmm mv _scaled_mm _addmm_activation addmv mkldnn_linear "
    "einsum dot inner _int_mm ";

// What a view, a cast, a copy, an allocation or a look at a tensor is called.
constexpr std::string_view idle =
    " to _to_copy copy_ clone contiguous view _unsafe_view view_as reshape _reshape_alias transpose t "
    "permute numpy_T expand expand_as as_strided as_strided_ detach detach_ alias slice select "
    "narrow unsqueeze unsqueeze_ squeeze squeeze_ unbind split chunk unflatten flatten movedim empty "
    "empty_like empty_strided new_empty zeros zeros_like new_zeros zero_ fill_ full ones resize_ "
    "set_ item _local_scalar_dense is_nonzero lift_fresh requires_grad_ isfinite result_type ";

bool contains(std::string_view list, std::string_view word) {
    return list.find(' ' + std::string(word) + ' ') != std::string_view::npos;
}

void collect(const c10::IValue& value, std::set<at::ScalarType>& to) {
    if (value.isTensor()) {
        const auto& tensor = value.toTensor();
        // A number that LibTorch wrapped is no tensor of the model.
        if (!tensor.defined() || tensor.dim() == 0) return;
        if (at::isFloatingType(tensor.scalar_type())) to.insert(tensor.scalar_type());
    } else if (value.isTensorList()) {
        for (const at::Tensor& tensor : value.toTensorVector()) collect(tensor, to);
    }
}

}  // namespace

InsideDtypes::Work InsideDtypes::work_of(std::string_view operator_name) {
    if (!operator_name.starts_with("aten::")) return Work::none;
    const auto word = operator_name.substr(6);
    if (contains(products, word) || word.find("scaled_dot_product") != std::string_view::npos)
        return Work::product;
    return contains(idle, word) ? Work::none : Work::other;
}

InsideDtypes::InsideDtypes() {
    InsideDtypes* none = nullptr;
    if (!installed.compare_exchange_strong(none, this))
        throw std::logic_error("operators inside of calls are being looked at already");
    at::RecordFunctionCallback callback([](const at::RecordFunction& function) {
        InsideDtypes* const self = installed.load(std::memory_order_acquire);
        if (self != nullptr && runtime::current_call() != nullptr) self->note(function);
        return std::unique_ptr<at::ObserverContext>();
    });
    handle_ = at::addGlobalCallback(callback.needsInputs(true).scopes({at::RecordScope::FUNCTION}));
}

InsideDtypes::~InsideDtypes() {
    at::removeCallback(handle_);
    installed.store(nullptr, std::memory_order_release);
}

void InsideDtypes::note(const at::RecordFunction& function) {
    const auto work = work_of(function.name());
    if (work == Work::none) return;
    std::set<at::ScalarType> dtypes;
    for (const auto& input : function.inputs()) collect(input, dtypes);
    if (dtypes.empty()) return;
    const std::pair key(std::string(runtime::current_place()),
                        std::string(runtime::current_call()->site().call));
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& seen = seen_[key];
    (work == Work::product ? seen.products : seen.others).insert(dtypes.begin(), dtypes.end());
}

std::set<at::ScalarType> InsideDtypes::of(std::string_view place, std::string_view call) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = seen_.find({std::string(place), std::string(call)});
    if (found == seen_.end()) return {};
    return found->second.products.empty() ? found->second.others : found->second.products;
}

}  // namespace switchyard::train
