// What was observed of one step: nested events with their times, in the order in which they began.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <switchyard/interfaces/types.h>

namespace switchyard::profile {

enum class EventKind : std::uint8_t {
    step,   // the whole, one at a time; `name` says of what
    part,   // of a step: "data", "forward", "backward", "update"
    place,  // of a model: "encoder.0.attention"
    call,   // of a component: "linear.forward"
    node,   // of autograd, in backward
    op      // of LibTorch
};

// What is computed and moved, if everything that goes in is read once and all that comes out written once.
struct Cost {
    double flops = 0.0;  // a multiplication and an addition being two
    double read = 0.0;   // bytes
    double written = 0.0;

    bool any() const { return flops > 0.0 || read > 0.0 || written > 0.0; }
    Cost& operator+=(const Cost& other) {
        flops += other.flops;
        read += other.read;
        written += other.written;
        return *this;
    }
};

struct Event {
    std::int64_t begin = 0, end = 0;  // nanoseconds of a clock that never goes back
    std::int64_t observing = 0;       // nanoseconds before `begin` and after `end` that writing it down took
    std::int32_t parent = -1;         // the event around it; -1: none
    std::int32_t name = 0;            // in Recording::names
    std::int32_t slot = -1;           // of a call: names of slot and component
    std::int32_t component = -1;
    std::int32_t forward = -1;  // of a node: the event that it is the backward of; -1: not known
    EventKind kind = EventKind::op;
    DType dtype = DType::float32;  // in which products are multiplied
    bool product = false;          // an operator whose cost is its own, whatever it calls
    Cost cost;
    Cost backward_cost;  // of a call: what its backward takes, where it is run

    double milliseconds() const { return static_cast<double>(end - begin) * 1e-6; }
};

struct Recording {
    std::vector<Event> events;
    std::vector<std::string> names;

    const std::string& name_of(const Event& event) const {
        return names[static_cast<std::size_t>(event.name)];
    }
};

}  // namespace switchyard::profile
