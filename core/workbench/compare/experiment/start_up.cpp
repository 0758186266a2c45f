#include "core/workbench/compare/experiment/start_up.h"

#include <limits>
#include <numeric>

namespace switchyard::compare {

void StartUp::took(double wall_ms, const std::vector<double>& step_ms) {
    const double in_steps = std::accumulate(step_ms.begin(), step_ms.end(), 0.0);
    double end = passed_ms_ + wall_ms - in_steps;
    for (const double ms : step_ms) ends_ms_.push_back(end += ms);
    passed_ms_ += wall_ms;
}

double StartUp::until(std::size_t step) const {
    return step < ends_ms_.size() ? ends_ms_[step] : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace switchyard::compare
