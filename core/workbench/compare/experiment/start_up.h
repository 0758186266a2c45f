// How long an arm needs from the start of its process to its first steady step, by the coordinator's clock:
// what it loads, compiles, captures and warms up is in it.
//
// No LibTorch here.
#pragma once

#include <cstddef>
#include <vector>

namespace switchyard::compare {

class StartUp {
public:
    // From the start of the process to its answer.
    void prepared(double wall_ms) { passed_ms_ = wall_ms; }
    // Steps that warm up. What a turn took beyond them counts as before the first of them.
    void took(double wall_ms, const std::vector<double>& step_ms);
    // From the start of the process to the end of that step, from 0; NaN: it was not taken.
    double until(std::size_t step) const;

private:
    double passed_ms_ = 0.0;
    std::vector<double> ends_ms_;
};

}  // namespace switchyard::compare
