// A tensor that is made past autograd and has a gradient all the same: what ranks do together, for instance.
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

namespace switchyard::runtime {

using OneToOne = std::function<at::Tensor(const at::Tensor&)>;

// forward(x), run without grad, which may give x itself; the gradient of x is backward(that of the result),
// called once in each backward, on whichever thread autograd uses. `name`: static, as autograd shows it. A
// second derivative is an error. Without grad mode, or where x needs no gradient: forward alone.
at::Tensor with_gradient(const char* name, const at::Tensor& x, const OneToOne& forward, OneToOne backward);

}  // namespace switchyard::runtime
