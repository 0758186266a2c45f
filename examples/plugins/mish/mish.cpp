// With e = e^x and n = e^2 + 2 e: tanh(log(1 + e)) = n / (n + 2), and its derivative is
// 4 (e^2 + e) / (n + 2)^2.
#include "mish.h"

#include <cmath>
#include <cstdint>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <switchyard/interfaces/require.h>

using namespace switchyard;

namespace {

template <class T>
struct Gate {
    T value, slope;  // tanh(log(1 + e^x)) and its derivative by x
};

template <class T>
Gate<T> gate_of(T x) {
    if (x > T(20)) return {T(1), T(0)};  // all that follows rounds to that, and e^2 would overflow
    const T e = std::exp(x);
    const T n = e * (e + T(2)), d = n + T(2);
    return {n / d, T(4) * e * (e + T(1)) / (d * d)};
}

// made[i] = f(x[i], with[i]) for all values, in parallel.
template <class T, class F>
at::Tensor made_of(const at::Tensor& x, const at::Tensor& with, const F& f) {
    constexpr std::int64_t values_per_thread = 16384;
    at::Tensor made = at::empty(x.sizes(), x.options());
    const T* const from = x.const_data_ptr<T>();
    const T* const beside = with.const_data_ptr<T>();
    T* const to = made.mutable_data_ptr<T>();
    at::parallel_for(0, x.numel(), values_per_thread, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) to[i] = f(from[i], beside[i]);
    });
    return made;
}

template <class T>
at::Tensor forward_of(const at::Tensor& x) {
    return made_of<T>(x, x, [](T value, T) { return value * gate_of(value).value; });
}

template <class T>
at::Tensor backward_of(const at::Tensor& x, const at::Tensor& grad_y) {
    return made_of<T>(x, grad_y, [](T value, T upstream) {
        const Gate<T> gate = gate_of(value);
        return upstream * (gate.value + value * gate.slope);
    });
}

}  // namespace

Verdict Mish::supports(const ActivationRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu", name(request.device));
    // float64 is what verify holds the other dtypes to.
    REQUIRE(verdict, request.dtype == DType::float32 || request.dtype == DType::float64, Code::DType, "dtype",
            "float32 or float64", name(request.dtype));
    REQUIRE(verdict, request.activation == ActivationKind::custom && request.custom == "mish",
            Code::Algorithm, "activation", "custom:mish", formula_name(request));
    // The core adds the bias and applies dropout around a component that says no to them.
    REQUIRE(verdict, !request.input_bias, Code::Fusion, "input_bias", "no bias", "a bias");
    REQUIRE(verdict, request.dropout == 0.0, Code::Dropout, "dropout", "0", request.dropout);
    return verdict;
}

at::Tensor Mish::forward(const ActivationInputs& inputs, const ActivationParams&, Saved* saved) {
    const at::Tensor x = inputs.x.contiguous();
    if (saved != nullptr) saved->input(inputs.x);  // null where no gradient will be asked for
    executed();
    return x.scalar_type() == at::kDouble ? forward_of<double>(x) : forward_of<float>(x);
}

ActivationGrads Mish::backward(const ActivationParams&, const Saved& saved, const at::Tensor& grad_y,
                               const ActivationNeeds&) {
    const at::Tensor x = saved[0].contiguous(), upstream = grad_y.contiguous();
    if (x.scalar_type() == at::kDouble) return {backward_of<double>(x, upstream), {}};
    return {backward_of<float>(x, upstream), {}};
}
