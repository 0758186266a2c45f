#include "core/workbench/model/parameter_storage.h"

#include <ATen/ops/empty.h>
#include <c10/core/Storage.h>

namespace switchyard::model {

std::int64_t let_go(const at::Tensor& parameter) {
    const c10::Storage& storage = parameter.storage();
    const auto bytes = static_cast<std::int64_t>(storage.nbytes());
    storage.set_data_ptr_noswap(at::DataPtr(nullptr, parameter.device()));
    storage.set_nbytes(0);
    return bytes;
}

void bring_back(const at::Tensor& parameter) {
    if (held_bytes(parameter) > 0) return;
    const auto fresh = at::empty({parameter.numel()}, parameter.options().requires_grad(false));
    const c10::Storage& from = fresh.storage();
    const c10::Storage& storage = parameter.storage();
    storage.set_nbytes(from.nbytes());
    storage.set_data_ptr_noswap(
        from.unsafeGetStorageImpl()->set_data_ptr(at::DataPtr(nullptr, parameter.device())));
}

std::int64_t held_bytes(const at::Tensor& parameter) {
    return static_cast<std::int64_t>(parameter.storage().nbytes());
}

}  // namespace switchyard::model
