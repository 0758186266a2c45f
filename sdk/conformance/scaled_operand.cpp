#include <switchyard/conformance/scaled_operand.h>

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <switchyard/conformance/cases.h>

namespace switchyard::conformance {
namespace {

at::ScalarType format_of(OperandRole role) {
    return role == OperandRole::gradient ? at::kFloat8_e5m2 : at::kFloat8_e4m3fn;
}

double largest(OperandRole role) { return role == OperandRole::gradient ? 57344.0 : 448.0; }

// 1 and so many binary places: what the formats hold.
int places(OperandRole role) { return role == OperandRole::gradient ? 2 : 3; }

// The factor of the whole matrix. Of four binary digits, so that its products with the formats' numbers have
// the eight of bfloat16.
double factor_of(OperandRole role) {
    switch (role) {
        case OperandRole::x:
            return 1.375;
        case OperandRole::weight:
            return 0.8125;
        case OperandRole::gradient:
            break;
    }
    return 1.25;
}

double rounded(double value, int binary_places) {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    const double digits = std::ldexp(fraction, binary_places + 1);
    return std::abs(value) < 0.0625 ? 0.0 : std::ldexp(std::nearbyint(digits), exponent - binary_places - 1);
}

struct Group {
    std::int64_t rows, columns;
};

Group size_of(ScaleGroup group, std::int64_t rows, std::int64_t columns) {
    switch (group) {
        case ScaleGroup::tensor:
            break;
        case ScaleGroup::row:
            return {1, std::max<std::int64_t>(columns, 1)};
        case ScaleGroup::strip:
            return {1, scale_block};
        case ScaleGroup::square:
            return {scale_block, scale_block};
    }
    return {std::max<std::int64_t>(rows, 1), std::max<std::int64_t>(columns, 1)};
}

// Calls f(value) for all values of the group that begins there.
template <class F>
void each_of(double* values, std::int64_t rows, std::int64_t columns, const Group& size, std::int64_t row,
             std::int64_t column, const F& f) {
    for (std::int64_t r = row; r < std::min(row + size.rows, rows); ++r) {
        for (std::int64_t c = column; c < std::min(column + size.columns, columns); ++c)
            f(values[r * columns + c]);
    }
}

}  // namespace

at::Tensor scaled_numbers(std::int64_t rows, std::int64_t columns, OperandRole role, std::uint64_t seed) {
    at::Tensor numbers = bell({rows, columns}, seed);
    auto* values = numbers.mutable_data_ptr<double>();
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
            const auto power = r % 3 + r / scale_block % 3 + 2 * (c / scale_block % 3);
            double& value = values[r * columns + c];
            value = std::ldexp(rounded(value, places(role)), static_cast<int>(power)) * factor_of(role);
        }
    }
    return numbers;
}

LinearOperand scaled_operand(const at::Tensor& dense, OperandRole role, ScaleGroup group, Placement placement,
                             const Variation& variation) {
    const std::int64_t rows = dense.size(0), columns = dense.size(1);
    const at::Tensor scaled = (dense.detach().cpu().to(at::kDouble) / factor_of(role)).contiguous().clone();
    const Group size = size_of(group, rows, columns);
    const std::int64_t down = (rows + size.rows - 1) / size.rows,
                       across = (columns + size.columns - 1) / size.columns;
    at::Tensor inverse = at::empty({down, across}, at::kDouble);
    auto *values = scaled.mutable_data_ptr<double>(), *inverses = inverse.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < down * across; ++i) {
        const std::int64_t row = i / across * size.rows, column = i % across * size.columns;
        double amax = 0.0;
        each_of(values, rows, columns, size, row, column,
                [&](double value) { amax = std::max(amax, std::isnan(value) ? 0.0 : std::abs(value)); });
        const double scale = amax > 0.0 ? std::exp2(std::floor(std::log2(largest(role) / amax))) : 1.0;
        each_of(values, rows, columns, size, row, column, [&](double& value) { value *= scale; });
        inverses[i] = factor_of(role) / scale;
    }
    if (group == ScaleGroup::tensor)
        inverse = inverse.numel() == 1 ? inverse.reshape({}) : at::ones({}, at::kDouble);
    const double around = surroundings(variation);
    return {place(scaled, format_of(role), dense.device(), variation.strided ? placement : Placement::dense,
                  around),
            place(inverse, at::kFloat, dense.device(), Placement::dense, around), group};
}

}  // namespace switchyard::conformance
