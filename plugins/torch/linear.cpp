#include "linear.h"

#include <optional>

#include <ATen/Context.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>

#include <switchyard/sdk/libtorch_products.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {
namespace {

// Where `asked`, products in TensorFloat-32 while it lives; the setting is the process's.
class Tf32 {
public:
    explicit Tf32(bool asked) : asked_(asked), before_(asked && at::globalContext().allowTF32CuBLAS()) {
        if (asked_) at::globalContext().setAllowTF32CuBLAS(true);
    }
    ~Tf32() {
        if (asked_) at::globalContext().setAllowTF32CuBLAS(before_);
    }
    Tf32(const Tf32&) = delete;
    Tf32& operator=(const Tf32&) = delete;

private:
    bool asked_, before_;
};

}  // namespace

TorchLinear::TorchLinear(const CreateInfo& info)
    : Linear(info),
      tf32_(info.device() == Device::cuda && KindTraits<Kind::linear>::request(*info.request).tf32),
      slow_(slow_libtorch_products(info, "5 to 25 times as slowly as float32", "linear.backend = \"gemm\"")) {
}

Verdict TorchLinear::supports(const LinearRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    require_dense(verdict, request);
    return verdict;
}

at::Tensor TorchLinear::forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) {
    executed();
    const Tf32 tf32(tf32_);
    return at::linear(x.values, weight.operand.values,
                      bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt);
}

at::Tensor TorchLinear::input_gradient(const LinearOperand& grad, const LinearWeight& weight) {
    const Tf32 tf32(tf32_);
    return at::mm(grad.values, weight.operand.values);
}

at::Tensor TorchLinear::weight_gradient(const LinearOperand& grad, const LinearOperand& x) {
    const Tf32 tf32(tf32_);
    return at::mm(grad.values.t(), x.values);
}

}  // namespace switchyard
