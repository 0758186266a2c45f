// Rows of dropout(act(x + bias)), plain or gated, and of its backward. Rows are dense, the bias float32.
// `Storage` is float, c10::BFloat16 or c10::Half.
#pragma once

#include <cstdint>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "common/dropout_row.h"
#include "curve.h"

namespace switchyard::fused {

template <class Storage>
struct ActivationForward {
    Curve curve = Curve::gelu_erf;
    bool gated = false;
    bool streams = false;    // results are written around the caches: rows are aligned to vectors
    std::int64_t width = 0;  // of y; x has twice as many columns if gated
    RowDropout dropout;
    const Storage* x = nullptr;
    const float* bias = nullptr;  // of all columns of x, or nullptr
    Storage* y = nullptr;
};

template <class Storage>
struct ActivationBackward {
    Curve curve = Curve::gelu_erf;
    bool gated = false;
    bool streams = false;
    std::int64_t width = 0;
    RowDropout dropout;
    const Storage* x = nullptr;
    const float* bias = nullptr;
    const Storage* y =
        nullptr;  // read instead of x, bias and dropout by a relu that is not gated; identity reads neither
    const Storage* grad_y = nullptr;
    Storage* grad_x = nullptr;   // or nullptr
    float* grad_bias = nullptr;  // or nullptr; the rows' terms are added
};

// Rows [begin, end).
template <class Storage>
struct ActivationKernels {
    void (*forward)(const ActivationForward<Storage>& call, std::int64_t begin, std::int64_t end);
    void (*backward)(const ActivationBackward<Storage>& call, std::int64_t begin, std::int64_t end);
};

template <class Storage>
const ActivationKernels<Storage>& activation_kernels();

}  // namespace switchyard::fused
