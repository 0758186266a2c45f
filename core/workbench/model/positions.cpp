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

// [positions, width / 2]: position * theta^(-2 i / width)
at::Tensor angles(std::int64_t positions, std::int64_t width, double theta) {
    const auto options = at::TensorOptions().dtype(at::kDouble);
    const auto exponents = at::arange(0, width, 2, options).div(static_cast<double>(width));
    return at::outer(at::arange(positions, options), exponents.mul(-std::log(theta)).exp());
}

}  // namespace

at::Tensor sinusoidal_table(std::int64_t positions, std::int64_t width) {
    const auto angle = angles(positions, width, 10000.0);
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

Rotary rotary_table(std::int64_t positions, std::int64_t head_dim, double theta) {
    const auto half = angles(positions, head_dim, theta);
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
