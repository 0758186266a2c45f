#include "core/kernel/runtime/stable/exchange.h"

#include <algorithm>
#include <stdexcept>

#include <torch/csrc/inductor/aoti_torch/utils.h>

#include "core/kernel/runtime/stable/stable_services.h"

namespace switchyard::runtime::stable {

AtenTensorHandle Exchange::lend(const at::Tensor& tensor) {
    if (!tensor.defined()) return nullptr;
    // The shim has no handle of a tensor that must not be changed; that is the contract's word alone.
    lent_.push_back(torch::aot_inductor::tensor_pointer_to_tensor_handle(const_cast<at::Tensor*>(&tensor)));
    return lent_.back();
}

bool Exchange::is_lent(AtenTensorHandle handle) const {
    if (std::find(lent_.begin(), lent_.end(), handle) != lent_.end()) return true;
    if (saved_ == nullptr) return false;
    const at::Tensor* const tensor = torch::aot_inductor::tensor_handle_to_tensor_pointer(handle);
    return std::any_of(saved_->tensors.begin(), saved_->tensors.end(),
                       [&](const Saved::Entry& entry) { return &entry.tensor == tensor; });
}

std::vector<at::Tensor> Exchange::take(std::int32_t status, std::initializer_list<GivenTensor> given) {
    std::vector<at::Tensor> tensors;
    std::vector<AtenTensorHandle> own;
    std::string fault;
    for (const GivenTensor& one : given) {
        at::Tensor& tensor = tensors.emplace_back();
        if (one.handle == nullptr) continue;
        const bool twice = std::find(own.begin(), own.end(), one.handle) != own.end();
        if (twice || is_lent(one.handle)) {
            fault = std::string("gave as ") + one.what +
                    (twice ? " a handle that it gave already" : " a handle that was lent to it") +
                    "; expected one of its own: aoti_torch_new_tensor_handle makes it";
            continue;
        }
        own.push_back(one.handle);
        tensor = *torch::aot_inductor::tensor_handle_to_tensor_pointer(one.handle);
    }
    for (const AtenTensorHandle handle : own) aoti_torch_delete_tensor_object(handle);
    require_fine(status);
    if (!fault.empty()) throw std::runtime_error(fault);
    return tensors;
}

void require_fine(std::int32_t status) {
    const std::string text = take_call_error();
    if (status == 0) return;
    throw std::runtime_error(text.empty() ? "returned " + std::to_string(status) + " and did not say why"
                                          : text);
}

}  // namespace switchyard::runtime::stable
