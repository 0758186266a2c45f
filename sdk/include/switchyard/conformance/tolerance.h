// How far from the oracle a tensor may be: derived from how far the reference in the same dtype is.
//
//     error      the root mean square of the difference, and the largest difference
//     allowed    factor * the reference's error + a floor:  2 u * rms(oracle) for the first, 4 u *
//                max|oracle| for the second
//
// with u the unit roundoff of the tensor's dtype (half a unit in the last place), factor 2 for outputs and 3
// for gradients; in float64, where the oracle is no wider than the candidate and errs as much, one more, and
// the floor is 32 times that: a sum of n values, taken one after the other, is off by sqrt(n) u of them, 76 u
// for the 5,731 classes of a drawn loss where LibTorch has no vectors to sum in.
//
// Chance is taken out where tensors are small: the reference's largest error counts as at least four times
// its rms error, tensors of few values get the worst of several runs of the reference (expected.cpp), and
// what is at most half as far again as allowed is decided by the median of five draws of values (judge.cpp).
// Gradients are differences of larger numbers (dS = P (dP - sum P dP)), so their floor also has the size of
// the case's largest gradient: u / 2 of its rms for the first, and 4 u of its largest value for the second; 8
// u and 32 u of its rms more for a gradient that is zero but for rounding, as dq where every query sees one
// key. The gradient of a vector of parameters may be off as a running sum over the rows in float32 is.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

namespace switchyard::conformance {

// 2^-24 for float32, 2^-8 for bfloat16, ...
double unit_roundoff(at::ScalarType type);

// The size of a tensor's values, or of its errors. NaN and infinity count as zero.
struct Spread {
    double rms = 0.0;
    double largest = 0.0;
};

struct Judgement {
    enum class Kind { fine, not_finite, too_far };
    Kind kind = Kind::fine;
    double ratio = 0.0;  // the larger of error / allowed, of the two
    std::string detail;  // when not fine
    Spread error,
        allowed;  // unless not_finite; `allowed.largest` is infinite where only the rms is asked for
};

// Of a - b in float64, where both are finite; `b` undefined: of a.
Spread spread_of(const at::Tensor& a, const at::Tensor& b = {});

struct Yardstick {
    at::Tensor oracle;  // float64
    Spread reference;   // errors of the reference in the candidate's dtype
    double factor = 2.0;
    Spread natural;         // of the case's largest gradient, or what a sum amounts to; zero for outputs
    double roundoff = 0.0;  // u, if that of the candidate's dtype is not meant
    // > 0: only rms(difference) <= bound * (1 + 2 / sqrt(n)) * rms(oracle) is asked for, n being how many
    // values there are,
    double reduced_bound = 0.0;
    double reduced_size = 0.0;      // or of that, where it is more: terms that cancel are rounded too
    double reduced_rounding = 0.0;  // comes on top: what the dtype alone makes of many steps
};

// Values only; shapes and dtypes have been compared. Where the oracle is not finite, the candidate must be
// the same: NaN where the oracle is NaN, an infinity of its sign where it is infinite.
Judgement judge(const at::Tensor& candidate, const Yardstick& yardstick);

}  // namespace switchyard::conformance
