// The curve of an activation, plain or gated: one number in, one number out. For the CPU's kernels and the
// device's.
#pragma once

#include <cstdint>

#include <switchyard/interfaces/types.h>

namespace switchyard::fused {

enum class Curve : std::uint8_t { gelu_erf, gelu_tanh, relu, silu, identity };

constexpr Curve curve_of(ActivationKind kind) {
    switch (kind) {
        case ActivationKind::gelu_tanh:
        case ActivationKind::geglu_tanh:
            return Curve::gelu_tanh;
        case ActivationKind::relu:
        case ActivationKind::reglu:
            return Curve::relu;
        case ActivationKind::silu:
        case ActivationKind::swiglu:
            return Curve::silu;
        case ActivationKind::identity:
            return Curve::identity;
        default:
            return Curve::gelu_erf;
    }
}

}  // namespace switchyard::fused
