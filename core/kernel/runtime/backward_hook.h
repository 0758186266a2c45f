// A call that backward makes on its way: what PyTorch's Module.register_full_backward_pre_hook and
// register_full_backward_hook are to a module.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::runtime {

// The same values. Backward calls `hook` once the gradients of all of them are there, before any of these
// goes on: of a part's outputs before all that is in the part; of its inputs after that, with the gradients
// of the part's leaves made, as long as the part is on one device. Where none of them needs a gradient, and
// without grad mode, they come back as they are, and nobody calls. May be undefined.
std::vector<at::Tensor> with_backward_hook(const std::vector<at::Tensor>& tensors,
                                           std::function<void()> hook);

}  // namespace switchyard::runtime
