#include "product.h"

#include <optional>

#include <ATen/ops/_scaled_mm.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/mm.h>

#include <switchyard/reference/linear.h>

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
LinearOperand padded(const LinearOperand& x) {
    const bool blocks = x.group == ScaleGroup::strip || x.group == ScaleGroup::square;
    const std::int64_t rows = up_to(x.values.size(0), granule);
    const std::int64_t columns = up_to(x.values.size(1), blocks ? 4 * scale_block : granule);
    LinearOperand result = x;
    // Zero is zero bits; LibTorch fills no float8.
    result.values = padded(x.values.view(at::kByte), rows, columns, 0.0).view(x.values.scalar_type());
    if (x.group == ScaleGroup::row) result.inverse_scale = padded(x.inverse_scale, rows, 1, 1.0);
    if (x.group == ScaleGroup::strip)
        result.inverse_scale = padded(x.inverse_scale, rows, columns / scale_block, 1.0);
    if (x.group == ScaleGroup::square)
        result.inverse_scale = padded(x.inverse_scale, x.inverse_scale.size(0), columns / scale_block, 1.0);
    return result;
}

at::Tensor on_device(const LinearOperand& a, const LinearOperand& b, bool fast) {
    const auto scales_of = [](const LinearOperand& x) {
        return x.group == ScaleGroup::strip ? x.inverse_scale.t().contiguous().t()
                                            : x.inverse_scale.contiguous();
    };
    const bool one = a.group == ScaleGroup::tensor;
    // cuBLAS adds up blocks in float32 alone.
    const bool blocks = a.group == ScaleGroup::strip || a.group == ScaleGroup::square;
    return at::_scaled_mm(a.values.contiguous(), b.values.contiguous().t(), scales_of(a),
                          one ? b.inverse_scale : scales_of(b).t(), std::nullopt, std::nullopt, at::kBFloat16,
                          fast && !blocks);
}

}  // namespace

at::Tensor product(const LinearOperand& a, const LinearOperand& b, bool fast) {
    const LinearOperand a_MK = padded(a), b_NK = padded(b);
    const at::Tensor y_MN = a.values.is_cuda()
                                ? on_device(a_MK, b_NK, fast)
                                : at::mm(reference::unscaled(a_MK), reference::unscaled(b_NK).t());
    return y_MN.narrow(0, 0, a.values.size(0)).narrow(1, 0, b.values.size(0));
}

}  // namespace switchyard::fp8
