#include "core/workbench/bench/measure/relative_distance.h"

#include <cmath>

#include <ATen/TensorOperators.h>

namespace switchyard::bench {

double relative_distance(const std::vector<at::Tensor>& values, const std::vector<at::Tensor>& base) {
    double difference = 0.0, scale = 0.0;
    for (std::size_t i = 0; i < base.size(); ++i) {
        if (!base[i].defined() || !values[i].defined()) continue;
        const auto exact = base[i].to(at::kDouble);
        difference += (values[i].to(at::kDouble) - exact).square().sum().item<double>();
        scale += exact.square().sum().item<double>();
    }
    return std::sqrt(difference / scale);
}

}  // namespace switchyard::bench
