#include "core/kernel/runtime/binding.h"

#include <stdexcept>

#include "core/kernel/runtime/plugin_library.h"

namespace switchyard::runtime {

BindingBase::BindingBase(const LoadedComponent& loaded, BindingInfo info)
    : loaded_(std::make_shared<const LoadedComponent>(loaded)),
      plugin_(loaded.plugin),
      component_(loaded.manifest->id),
      gradient_(loaded.manifest->gradient),
      random_(loaded.manifest->random),
      info_(std::move(info)) {
    if (info_.request == nullptr)
        throw std::invalid_argument(describe() + ": cannot be bound without a request");
}

CreateInfo BindingBase::create_info() const {
    CreateInfo info;
    info.request = info_.request.get();
    info.variant = info_.variant;
    info.options = info_.options;
    info.host = info_.host;
    info.token = &counter_;
    return info;
}

std::string BindingBase::describe() const {
    return info_.slot + " (plugin '" + plugin_ + "', component '" + component_ + "')";
}

}  // namespace switchyard::runtime
