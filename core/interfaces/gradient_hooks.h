// Called as gradients become ready, so that reduction or an optimizer step can overlap with the rest of backward.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <ATen/core/Tensor.h>

namespace switchyard {

// A parameter's gradient is final for this micro-batch. Runs on autograd's thread; `last_micro_batch` is true when no further
// accumulation into it will follow in this step.
struct GradientReady {
    std::string parameter;
    at::Tensor gradient;
    std::int64_t micro_batch = 0;
    bool last_micro_batch = true;
};

using GradientHook = std::function<void(const GradientReady&)>;

}  // namespace switchyard
