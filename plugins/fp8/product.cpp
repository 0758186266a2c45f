#include "product.h"

#include <optional>

#include <ATen/ops/_scaled_mm.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/mm.h>

namespace switchyard::fp8 {
namespace {

// Legend:  M rows of a  N rows of b  K columns of both
std::int64_t up_to(std::int64_t size, std::int64_t multiple) {
    return (size + multiple - 1) / multiple * multiple;
}

at::Tensor padded(const at::Tensor& x, std::int64_t rows, std::int64_t columns, double with) {
    if (x.size(0) == rows && x.size(1) == columns) return x;
    return at::constant_pad_nd(x, {0, columns - x.size(1), 0, rows - x.size(0)}, with);
}

// Zeros at the end of rows and columns, which add nothing. Blocks come in fours: their scales stand in rows
// of 16 bytes.
Scaled padded(const Scaled& x) {
    const bool blocks = x.grouping == Grouping::strip || x.grouping == Grouping::square;
    const std::int64_t rows = up_to(x.values.size(0), granule);
    const std::int64_t columns = up_to(x.values.size(1), blocks ? 4 * block : granule);
    Scaled result = x;
    // Zero is zero bits; LibTorch fills no float8.
    result.values = padded(x.values.view(at::kByte), rows, columns, 0.0).view(x.values.scalar_type());
    if (x.grouping == Grouping::row) result.inverse = padded(x.inverse, rows, 1, 1.0);
    if (x.grouping == Grouping::strip) result.inverse = padded(x.inverse, rows, columns / block, 1.0);
    if (x.grouping == Grouping::square)
        result.inverse = padded(x.inverse, x.inverse.size(0), columns / block, 1.0);
    return result;
}

at::Tensor on_device(const Scaled& a, const Scaled& b, bool fast) {
    const auto scales_of = [](const Scaled& x) {
        return x.grouping == Grouping::strip ? x.inverse.t().contiguous().t() : x.inverse.contiguous();
    };
    const bool one = a.grouping == Grouping::tensor;
    return at::_scaled_mm(a.values.contiguous(), b.values.contiguous().t(), scales_of(a),
                          one ? b.inverse : scales_of(b).t(), std::nullopt, std::nullopt, at::kBFloat16,
                          fast);
}

}  // namespace

at::Tensor product(const Scaled& a, const Scaled& b, bool fast) {
    const Scaled a_MK = padded(a), b_NK = padded(b);
    const at::Tensor y_MN =
        a.values.is_cuda() ? on_device(a_MK, b_NK, fast) : at::mm(decode(a_MK), decode(b_NK).t());
    return y_MN.narrow(0, 0, a.values.size(0)).narrow(1, 0, b.values.size(0));
}

}  // namespace switchyard::fp8
