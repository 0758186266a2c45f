// Brackets what a step is made of, for who measures where its time goes: the parts of a step, the places of a
// model, the calls of components. What happens inside - operators, nodes of autograd - LibTorch's own
// observers tell (ATen/record_function.h).
//
// There is none by default, and then each bracket is one load of an atomic pointer. Unlike an observer
// (call_observer.h) a timer sees no values, and no node is made for it: the step stays what it is.
#pragma once

#include <atomic>
#include <span>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

namespace switchyard::runtime {

class BindingBase;
class KernelCall;
struct Signature;

// Told on whichever thread it happens; what began last on a thread ends first.
class CallTimer {
public:
    virtual ~CallTimer() = default;
    virtual void begin_part(const char* part) = 0;  // "forward"; a literal
    virtual void begin_place(const std::string& place) = 0;
    virtual void begin_call(const BindingBase& binding, const char* call) = 0;  // "linear.backward"; a literal
    virtual void end() noexcept = 0;
    // After each forward of a kind that has a gradient, when its call has ended: what it got and returned,
    // undefined tensors included. `call` knows its parameters. The node that autograd makes for it, if it
    // makes one, is the next of this thread, unless the component is followed by autograd itself.
    virtual void called(const BindingBase& binding, const Signature& signature, const KernelCall& call,
                        std::span<const at::Tensor* const> inputs,
                        const c10::SmallVector<at::Tensor, 6>& outputs) = 0;
};

namespace observed {
inline std::atomic<CallTimer*> timer{nullptr};
}  // namespace observed

inline CallTimer* call_timer() { return observed::timer.load(std::memory_order_acquire); }

// Installs a timer for its own lifetime, between two steps. Throws std::logic_error if there is one already.
class TimeCalls {
public:
    explicit TimeCalls(CallTimer& timer);
    ~TimeCalls();
    TimeCalls(const TimeCalls&) = delete;
    TimeCalls& operator=(const TimeCalls&) = delete;
};

// A call of a component, or a part of a step, for as long as it lives.
class TimedScope {
public:
    TimedScope(const BindingBase& binding, const char* call) : timer_(call_timer()) {
        if (timer_ != nullptr) [[unlikely]]
            timer_->begin_call(binding, call);
    }
    explicit TimedScope(const char* part) : timer_(call_timer()) {
        if (timer_ != nullptr) [[unlikely]]
            timer_->begin_part(part);
    }
    ~TimedScope() {
        if (timer_ != nullptr) [[unlikely]]
            timer_->end();
    }
    TimedScope(const TimedScope&) = delete;
    TimedScope& operator=(const TimedScope&) = delete;

private:
    CallTimer* timer_;
};

}  // namespace switchyard::runtime
