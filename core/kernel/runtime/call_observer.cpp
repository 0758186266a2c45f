#include "core/kernel/runtime/call_observer.h"

#include <stdexcept>
#include <utility>

#include <c10/core/GradMode.h>

#include "core/kernel/runtime/call_timer.h"

namespace switchyard::runtime {

ObserveCalls::ObserveCalls(CallObserver& observer) {
    CallObserver* none = nullptr;
    if (!observed::observer.compare_exchange_strong(none, &observer))
        throw std::logic_error("calls are being observed already: one observer at a time");
    ++observed::lookers;
}

ObserveCalls::~ObserveCalls() {
    --observed::lookers;
    observed::observer.store(nullptr, std::memory_order_release);
}

TimeCalls::TimeCalls(CallTimer& timer) {
    CallTimer* none = nullptr;
    if (!observed::timer.compare_exchange_strong(none, &timer))
        throw std::logic_error("calls are being timed already: one timer at a time");
    ++observed::lookers;
}

TimeCalls::~TimeCalls() {
    --observed::lookers;
    observed::timer.store(nullptr, std::memory_order_release);
}

void PlaceScope::enter(std::string name) {
    name_ = std::move(name);
    outer_ = observed::place;
    observed::place = &name_;
    entered_ = true;
    timer_ = call_timer();
    if (timer_ != nullptr) timer_->begin_place(name_);
}

void PlaceScope::leave() {
    if (timer_ != nullptr) timer_->end();
    observed::place = outer_;
}

void tell_observer(const ObservedCall& call) {
    CallObserver* const observer = call_observer();
    if (observer == nullptr) return;
    const c10::AutoGradMode no_grad(false);
    observer->observe(call);
}

}  // namespace switchyard::runtime
