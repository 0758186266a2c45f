#include <switchyard/reference/linear.h>

#include <ATen/TensorOperators.h>

namespace switchyard::reference {

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    const at::Tensor y = x.matmul(weight.to(x.scalar_type()).t());
    return bias.defined() ? y + bias.to(x.scalar_type()) : y;
}

}  // namespace switchyard::reference
