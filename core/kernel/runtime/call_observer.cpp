#include "core/kernel/runtime/call_observer.h"

#include <stdexcept>
#include <utility>

#include <c10/core/GradMode.h>

namespace switchyard::runtime {

ObserveCalls::ObserveCalls(CallObserver& observer) {
    CallObserver* none = nullptr;
    if (!observed::observer.compare_exchange_strong(none, &observer))
        throw std::logic_error("calls are being observed already: one observer at a time");
}

ObserveCalls::~ObserveCalls() { observed::observer.store(nullptr, std::memory_order_release); }

void PlaceScope::enter(std::string name) {
    name_ = std::move(name);
    outer_ = observed::place;
    observed::place = &name_;
    entered_ = true;
}

void tell_observer(const ObservedCall& call) {
    CallObserver* const observer = call_observer();
    if (observer == nullptr) return;
    const c10::AutoGradMode no_grad(false);
    observer->observe(call);
}

}  // namespace switchyard::runtime
