// What is done to rows of float32, bfloat16 and float16, whichever vectors the processor has: made by
// float_rows-inl.h, called through by sweeps. Since 1.0.
#pragma once

#include <cstdint>

#include <c10/core/ScalarType.h>

namespace switchyard {

struct RowFunctions {
    // In float64: infinite or NaN where a value of the row is not finite, and only there.
    double (*squares)(at::ScalarType type, const void* x, std::int64_t n) = nullptr;
    void (*to_floats)(at::ScalarType type, const void* from, std::int64_t n, float* to) = nullptr;
    void (*from_floats)(const float* from, std::int64_t n, at::ScalarType type, void* to) = nullptr;
};

inline const void* row_at(at::ScalarType type, const void* data, std::int64_t index) {
    return static_cast<const char*>(data) + index * static_cast<std::int64_t>(c10::elementSize(type));
}

}  // namespace switchyard
