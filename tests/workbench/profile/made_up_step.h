// Recordings by hand: events with times in milliseconds, nested as they are written.
#pragma once

#include <string>

#include "core/workbench/profile/recording.h"

namespace switchyard::test {

class MadeUpStep {
public:
    // Each returns the number of its event, which ends with `end`.
    std::int32_t begin(profile::EventKind kind, const std::string& name, double ms);
    std::int32_t call(const std::string& slot, const std::string& component, const std::string& name, double ms);
    void end(double ms);

    profile::Event& operator[](std::int32_t event) {
        return recording.events[static_cast<std::size_t>(event)];
    }

    profile::Recording recording;

private:
    std::int32_t named(const std::string& name);
    std::vector<std::int32_t> open_;
};

// A linear layer of encoder.0 forward (10 ms, an operator takes 8 of it) and backward (20 ms, all in an
// operator), a step of the optimizer (5 ms), and 5 ms of nothing; 40 ms in all, after 1 ms for the batch.
// The layer's product takes 1000 operations forward and 2000 backward.
MadeUpStep made_up_step();

}  // namespace switchyard::test
