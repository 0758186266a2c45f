// Activations and their slopes on a device.
#pragma once

#include <switchyard/sdk/cuda/device_rows.h>

#include "activation_launch.h"

namespace switchyard::fused_cuda {

using device::fused;
using device::multiply;

struct Point {
    float value, slope;
};

// x Phi(x) by the polynomials of the CPU's kernels (activation_kernels.cpp says how they were made): erff and
// expf take twice as many instructions, which bfloat16 at the bandwidth of memory leaves no time for.
__device__ __forceinline__ Point gelu_erf(float x) {
    constexpr float value[] = {0.0005380731998069574F, -0.0013688230289981575F, 0.0010238568801681522F,
                               -0.00122941835735911F,  0.004236366410231293F,   -0.00767465245000786F,
                               0.01046862750945514F,   -0.014671374497641082F,  0.020287980092142933F,
                               -0.026112466620052965F, 0.03208174131814636F,    -0.038787267029560285F,
                               0.04773698973307239F,   -0.0641724750533199F,    0.12855193658100536F};
    constexpr float slope[] = {0.002223190155690279F,  -0.005782462277457438F, 0.003665131268454589F,
                               -0.003371599353360597F, 0.01712916199327326F,   -0.032075196839765514F,
                               0.039144013923626736F,  -0.050089245973147914F, 0.06525996206033907F,
                               -0.07404285756876261F,  0.07423513675843972F,   -0.06864279306907035F,
                               0.06031576623534236F,   -0.05374367775917375F,  0.053665178838995284F,
                               -0.06573971528828254F,  0.12875920932706947F};
    constexpr float edge_square = 30.25F;
    const float square = multiply(x, x);
    const float s = fused(fminf(square, edge_square), 2.0F / edge_square, -1.0F);
    float of_value = value[0], of_slope = slope[0];
#pragma unroll
    for (int i = 1; i < 15; ++i) of_value = fused(of_value, s, value[i]);
#pragma unroll
    for (int i = 1; i < 17; ++i) of_slope = fused(of_slope, s, slope[i]);
    const float phi = fused(x, of_value, 0.5F);  // beyond the edge past 0 or 1
    const float limit = x > 0.0F ? 1.0F : 0.0F;
    return {multiply(x, fminf(fmaxf(phi, 0.0F), 1.0F)),
            square > edge_square ? limit : fused(x, of_slope, 0.5F)};
}

struct Sigmoid {
    float e, s;  // e^-v, 1 / (1 + e^-v)
};
// Past it e^-v is no number of float32. There s is its limit, 0 or 1, and so is the slope of x s.
constexpr float sigmoid_edge = 87.0F;

__device__ __forceinline__ Sigmoid sigmoid(float v) {
    const float e = device::exp2(multiply(fminf(-v, sigmoid_edge), 1.4426950408889634F));
    const float s = device::quotient(1.0F, 1.0F + e);
    return {e, v < -sigmoid_edge ? 0.0F : s};
}
__device__ __forceinline__ float within_edge(float v, float slope, float limit) {
    return fabsf(v) > sigmoid_edge ? limit : slope;
}

// x (1 + tanh(u)) / 2 is x sigmoid(2 u), with u = sqrt(2 / pi) (x + 0.044715 x^3).
__device__ __forceinline__ Point gelu_tanh(float x) {
    const float square = multiply(x, x);
    const float v = multiply(x, fused(square, 1.5957691216F * 0.044715F, 1.5957691216F));
    const Sigmoid at = sigmoid(v);
    const float v_slope = fused(square, 1.5957691216F * 0.134145F, 1.5957691216F);
    const float s_slope = multiply(multiply(at.e, at.s), at.s);
    return {multiply(x, at.s), within_edge(v, fused(multiply(x, s_slope), v_slope, at.s), at.s)};
}

__device__ __forceinline__ Point silu(float x) {
    const Sigmoid at = sigmoid(x);
    const float slope = fused(x, multiply(multiply(at.e, at.s), at.s), at.s);
    return {multiply(x, at.s), within_edge(x, slope, at.s)};
}

// NaN stays NaN.
__device__ __forceinline__ Point relu(float x) { return {x <= 0.0F ? 0.0F : x, x <= 0.0F ? 0.0F : 1.0F}; }

// body(i, point) for eight values of a curve that is the same for all threads. Where only one of value and
// slope is used, the other costs nothing.
template <class Body>
__device__ __forceinline__ void on_curve(Curve curve, const float (&x)[8], const Body& body) {
    switch (curve) {
        case Curve::gelu_erf:
#pragma unroll
            for (int i = 0; i < 8; ++i) body(i, gelu_erf(x[i]));
            break;
        case Curve::gelu_tanh:
#pragma unroll
            for (int i = 0; i < 8; ++i) body(i, gelu_tanh(x[i]));
            break;
        case Curve::relu:
#pragma unroll
            for (int i = 0; i < 8; ++i) body(i, relu(x[i]));
            break;
        case Curve::silu:
#pragma unroll
            for (int i = 0; i < 8; ++i) body(i, silu(x[i]));
            break;
        case Curve::identity:
#pragma unroll
            for (int i = 0; i < 8; ++i) body(i, Point{x[i], 1.0F});
            break;
    }
}

}  // namespace switchyard::fused_cuda
