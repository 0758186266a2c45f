#include "core/kernel/runtime/call_observer.h"

#include <stdexcept>
#include <utility>

#include <c10/core/GradMode.h>

#include "core/kernel/runtime/call_timer.h"
#include "core/kernel/runtime/operation_observer.h"

namespace switchyard::runtime {
namespace {

template <class Looker>
void install(std::atomic<Looker*>& place, Looker& looker, const char* taken) {
    Looker* none = nullptr;
    if (!place.compare_exchange_strong(none, &looker)) throw std::logic_error(taken);
    ++observed::lookers;
}

template <class Looker>
void remove(std::atomic<Looker*>& place) {
    --observed::lookers;
    place.store(nullptr, std::memory_order_release);
}

}  // namespace

ObserveCalls::ObserveCalls(CallObserver& observer) {
    install(observed::observer, observer, "calls are being observed already: one observer at a time");
}

ObserveCalls::~ObserveCalls() { remove(observed::observer); }

TimeCalls::TimeCalls(CallTimer& timer) {
    install(observed::timer, timer, "calls are being timed already: one timer at a time");
}

TimeCalls::~TimeCalls() { remove(observed::timer); }

ObserveOperations::ObserveOperations(OperationObserver& observer) {
    install(observed::operations, observer, "operations are being observed already: one observer at a time");
}

ObserveOperations::~ObserveOperations() { remove(observed::operations); }

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
