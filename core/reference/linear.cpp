#include <switchyard/reference/linear.h>

#include <ATen/TensorOperators.h>

namespace switchyard::reference {
namespace {

// One scale for each value of x [rows, columns], or one that broadcasts over them.
at::Tensor spread(const at::Tensor& scales, ScaleGroup group, std::int64_t rows, std::int64_t columns) {
    switch (group) {
        case ScaleGroup::tensor:
        case ScaleGroup::row:
            return scales;
        case ScaleGroup::strip:
            return scales.repeat_interleave(scale_block, 1).narrow(1, 0, columns);
        case ScaleGroup::square:
            break;
    }
    return scales.repeat_interleave(scale_block, 1)
        .narrow(1, 0, columns)
        .repeat_interleave(scale_block, 0)
        .narrow(0, 0, rows);
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    const at::Tensor y = x.matmul(weight.to(x.scalar_type()).t());
    return bias.defined() ? y + bias.to(x.scalar_type()) : y;
}

at::Tensor unscaled(const LinearOperand& operand) {
    if (!operand.scaled()) return operand.values;
    return operand.values.to(at::kFloat) *
           spread(operand.inverse_scale, operand.group, operand.values.size(0), operand.values.size(1));
}

}  // namespace switchyard::reference
