// Sees every call of a component: which layer, what it got, what it returned, forward and backward.
//
// There is none by default, and then a call pays one load of an atomic pointer. Who wants to look derives
// from CallObserver and installs it:
//
//     Ranges ranges;
//     const runtime::ObserveCalls observing(ranges);
//     trainer.step(batches);
//
// Backward is seen of every component, whatever its gradient mode: of a kernel at the call itself, of one
// that autograd follows where gradients enter and leave it (gradient_watch.h). Calls made before the observer
// was installed have no backward that could be seen.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::runtime {

class BindingBase;
class CallTimer;

enum class Pass : std::uint8_t { forward, backward, step };

struct ObservedTensor {
    const char* name;  // "q", "weight"; in backward that of the tensor whose gradient this is
    at::Tensor value;  // defined
};

struct ObservedCall {
    const BindingBase& binding;  // slot, plugin, component, request
    const char* call;            // "attention.forward", "linear.backward", "optimizer.step"
    // "encoder.0.attention", "encoder.0.attention.q"; a parameter's name in steps; empty: none is known
    std::string_view place;
    Pass pass;
    bool again;  // a forward that recomputation runs a second time
    // Backward: gradients of the outputs come in, gradients of the inputs go out. Step: a call for each
    // parameter that has a gradient; what went in and what came out, both as the step left them.
    std::vector<ObservedTensor> inputs, outputs;
};

class CallObserver {
public:
    virtual ~CallObserver() = default;
    // After each call that returned, without grad mode, on whichever thread it ran: backward has threads of
    // its own. What is thrown ends the step.
    virtual void observe(const ObservedCall& call) = 0;
};

namespace observed {
inline std::atomic<CallObserver*> observer{nullptr};
inline std::atomic<int> lookers{0};  // observers and timers (call_timer.h, operation_observer.h)
inline constinit thread_local const std::string* place = nullptr;
inline constinit thread_local bool again = false;
}  // namespace observed

inline CallObserver* call_observer() { return observed::observer.load(std::memory_order_acquire); }

// Installs an observer for its own lifetime. Throws std::logic_error if there is one already.
class ObserveCalls {
public:
    explicit ObserveCalls(CallObserver& observer);
    ~ObserveCalls();
    ObserveCalls(const ObserveCalls&) = delete;
    ObserveCalls& operator=(const ObserveCalls&) = delete;
};

// Says where in the model this thread is, for as long as it lives. `name` is a function that makes the text;
// it is called only if somebody looks.
class PlaceScope {
public:
    template <class Name>
    explicit PlaceScope(const Name& name) {
        if (observed::lookers.load(std::memory_order_relaxed) != 0) [[unlikely]]
            enter(std::string(name()));
    }
    ~PlaceScope() {
        if (entered_) [[unlikely]]
            leave();
    }
    PlaceScope(const PlaceScope&) = delete;
    PlaceScope& operator=(const PlaceScope&) = delete;

private:
    void enter(std::string name);
    void leave();

    std::string name_;
    const std::string* outer_ = nullptr;
    CallTimer* timer_ = nullptr;  // that was told
    bool entered_ = false;
};

// The innermost place of this thread, empty if none.
inline std::string_view current_place() {
    return observed::place == nullptr ? std::string_view() : std::string_view(*observed::place);
}

// Tells the observer, if there is one, without grad mode.
void tell_observer(const ObservedCall& call);

}  // namespace switchyard::runtime
