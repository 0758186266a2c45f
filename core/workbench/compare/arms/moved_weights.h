// How much a model magnifies rounding, found by moving all its weights a little.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "core/workbench/model/parameters.h"

namespace switchyard::compare {

// While it lives every weight is moved by a small relative amount of random sign, as rounding would: what
// comes of it shows how much this very model, with these weights and this batch, magnifies rounding (Parker
// 1997, "Monte Carlo Arithmetic", takes the same view).
class MovedWeights {
public:
    static constexpr double share = 0x1p-8;  // of every weight: bfloat16's rounding

    explicit MovedWeights(model::Parameters& parameters);
    ~MovedWeights();
    MovedWeights(const MovedWeights&) = delete;
    MovedWeights& operator=(const MovedWeights&) = delete;

private:
    model::Parameters& parameters_;
    std::vector<at::Tensor> kept_;
};

}  // namespace switchyard::compare
