// What is not finite in a step, in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <switchyard/interfaces/optimizer.h>

namespace switchyard::train {

// "the loss is nan"; empty if it is finite.
std::string nonfinite_loss(double loss);

// "the gradients of 2 of 37 parameters are not finite, the first that of pooler.weight (4 of 1024 values)";
// empty if all are finite. One pass over them where they are.
std::string nonfinite_gradients(const std::vector<ParameterGroup>& groups);

// The same of what is known of each gradient.
struct GradientFinding {
    std::string parameter;
    std::int64_t bad = 0, all = 0;  // values
};
std::string nonfinite_text(const std::vector<GradientFinding>& gradients);

// 0 of an undefined one.
std::int64_t nonfinite_values(const at::Tensor& gradient);

// "3 NaN and 1 Inf of 1024 values"
std::string nonfinite_counts(const at::Tensor& tensor);

}  // namespace switchyard::train
