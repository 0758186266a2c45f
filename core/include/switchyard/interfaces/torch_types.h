// Conversions between the vocabulary of types.h and LibTorch's.
#pragma once

#include <optional>

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include <switchyard/interfaces/types.h>

namespace switchyard {

inline c10::ScalarType to_scalar_type(DType dtype) {
    switch (dtype) {
        case DType::float32:
            return c10::ScalarType::Float;
        case DType::float64:
            return c10::ScalarType::Double;
        case DType::bfloat16:
            return c10::ScalarType::BFloat16;
        case DType::float16:
            return c10::ScalarType::Half;
        case DType::float8_e4m3fn:
            return c10::ScalarType::Float8_e4m3fn;
        case DType::float8_e5m2:
            return c10::ScalarType::Float8_e5m2;
        case DType::int64:
            return c10::ScalarType::Long;
        case DType::int32:
            return c10::ScalarType::Int;
        case DType::int8:
            return c10::ScalarType::Char;
        case DType::uint8:
            return c10::ScalarType::Byte;
        case DType::boolean:
            return c10::ScalarType::Bool;
    }
    return c10::ScalarType::Undefined;
}

// nullopt for a type that the contracts do not name.
inline std::optional<DType> from_scalar_type(c10::ScalarType type) {
    for (std::size_t i = 0; i < names<DType>.size(); ++i) {
        if (to_scalar_type(static_cast<DType>(i)) == type) return static_cast<DType>(i);
    }
    return std::nullopt;
}

inline c10::DeviceType to_device_type(Device device) {
    return device == Device::cuda ? c10::DeviceType::CUDA : c10::DeviceType::CPU;
}

}  // namespace switchyard
