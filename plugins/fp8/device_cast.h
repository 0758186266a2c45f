// The same cast as saturating_cast, with the largest magnitude, by a kernel of the plugin's second library.
#pragma once

#include "float8.h"

namespace switchyard::fp8 {

// x on a CUDA device, not empty; `scale` [] float32. Opens the library the first time, and throws where that
// fails.
Scaled cast_on_device(const at::Tensor& x, Format format, const at::Tensor& scale);

}  // namespace switchyard::fp8
