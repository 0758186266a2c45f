#include "core/workbench/model/positions.h"

#include <bit>
#include <cmath>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

namespace switchyard::model {
namespace {

const at::TensorOptions in_double = at::TensorOptions().dtype(at::kDouble);

// [width / 2]: theta^(-2 i / width)
at::Tensor frequencies(std::int64_t width, double theta) {
    const auto exponents = at::arange(0, width, 2, in_double).div(static_cast<double>(width));
    return exponents.mul(-std::log(theta)).exp();
}

// [positions, width / 2]
at::Tensor angles(std::int64_t positions, const at::Tensor& frequencies) {
    return at::outer(at::arange(positions, in_double), frequencies);
}

// How much of each frequency stays as it is, 0 to 1, by the number of turns in the original length.
at::Tensor kept_share(const config::ModelConfig& model, const at::Tensor& frequencies) {
    const auto turns = frequencies.mul(static_cast<double>(model.rotary_original_positions) / (2.0 * M_PI));
    const double low = model.rotary_low_freq_factor, high = model.rotary_high_freq_factor;
    return turns.sub(low).div(high - low).clamp(0.0, 1.0);
}

}  // namespace

at::Tensor sinusoidal_table(std::int64_t positions, std::int64_t width) {
    const auto angle = angles(positions, frequencies(width, 10000.0));
    return at::stack({angle.sin(), angle.cos()}, -1)
        .reshape({positions, -1})
        .narrow(1, 0, width)
        .to(at::kFloat)
        .contiguous();
}

at::Tensor alibi_slopes(std::int64_t heads) {
    const auto base = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
    std::vector<double> slopes;
    for (std::int64_t i = 1; i <= base; ++i)
        slopes.push_back(std::exp2(-8.0 * static_cast<double>(i) / static_cast<double>(base)));
    for (std::int64_t i = 1; static_cast<std::int64_t>(slopes.size()) < heads; i += 2) {
        slopes.push_back(std::exp2(-4.0 * static_cast<double>(i) / static_cast<double>(base)));
    }
    return at::tensor(slopes, at::TensorOptions().dtype(at::kDouble)).to(at::kFloat);
}

at::Tensor rotary_frequencies(const config::ModelConfig& model) {
    using config::RotaryScaling;
    const auto plain = frequencies(model.head_dim, model.rotary_theta);
    if (model.rotary_scaling == RotaryScaling::none) return plain;
    const auto slow = plain.div(model.rotary_factor);
    if (model.rotary_scaling == RotaryScaling::linear) return slow;
    return slow.lerp(plain, kept_share(model, plain));
}

Rotary rotary_table(const config::ModelConfig& model) {
    const auto half = angles(model.max_positions, rotary_frequencies(model));
    const auto angle = at::cat({half, half}, -1);
    return {angle.cos().to(at::kFloat), angle.sin().to(at::kFloat)};
}

at::Tensor rotate(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
    const auto half = x.size(-1) / 2;
    const auto value = x.to(at::kFloat);
    const auto turned = at::cat({value.narrow(-1, half, half).neg(), value.narrow(-1, 0, half)}, -1);
    return value.mul(cos).add(turned.mul(sin)).to(x.scalar_type());
}

}  // namespace switchyard::model
