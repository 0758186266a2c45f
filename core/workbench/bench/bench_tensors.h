// What the cases of attention, normalization, activation and loss share: seeded inputs, and a function of
// tensors run forward, or forward and backward.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/workbench/bench/bench_case.h"

namespace switchyard::bench {

// The same numbers for every backend and every run of a seed; `stream` tells the tensors of a case apart.
at::Tensor random_normal(at::IntArrayRef sizes, DType dtype, std::uint64_t seed, std::uint32_t stream,
                         double scale = 1.0);
// Whole numbers in [0, bound).
at::Tensor random_integers(at::IntArrayRef sizes, std::int64_t bound, std::uint64_t seed,
                           std::uint32_t stream);

struct NamedInput {
    std::string name;
    at::Tensor value;  // undefined: not there
    bool differentiable = true;
};

// Where it is not there already; nothing of nothing.
at::Tensor on_device(const at::Tensor& tensor, Device device);

// A call from inputs, by position, to outputs; undefined ones where there is nothing.
using TensorFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)>;

// A function with its inputs, ready to be called again and again. For all passes but Pass::forward the inputs
// become leaves that need a gradient, and `grad_outputs` (by position of the output; undefined: it has no
// gradient) start the backward pass. Both are copied to `device`, and results back to the host.
class TensorCall {
public:
    TensorCall(TensorFunction function, const std::vector<NamedInput>& inputs,
               const std::vector<at::Tensor>& grad_outputs, Pass pass, Device device = Device::cpu);

    // For Pass::backward the graph is made by the first call, and kept.
    void run() const;
    // The defined ones of the outputs, and for all passes but Pass::forward the gradients of all
    // differentiable inputs.
    CheckedTensors results(const std::vector<std::string>& output_names) const;

private:
    std::vector<at::Tensor> outputs() const;
    std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& outputs, bool again = false) const;

    TensorFunction function_;
    Pass pass_;
    std::vector<at::Tensor> inputs_;
    std::vector<at::Tensor> leaves_;
    std::vector<std::string> leaf_names_;
    std::vector<at::Tensor> grad_outputs_;
    mutable std::vector<at::Tensor> kept_;  // of Pass::backward
};

// A backend's operation, called with and (for the check) without dropout.
template <class Operation>
class OperationContender final : public Contender {
public:
    using MakeCall = std::function<TensorCall(const Operation& operation, bool dropout)>;
    using Select = std::function<CheckedTensors(CheckedTensors)>;

    // `select` takes the part of the results that is checked; empty: all.
    OperationContender(Operation operation, const MakeCall& make, std::vector<std::string> outputs,
                       Select select = {})
        : operation_(std::move(operation)),
          call_(make(operation_, true)),
          call_without_dropout_(make(operation_, false)),
          outputs_(std::move(outputs)),
          select_(std::move(select)) {}

    void run() override { call_.run(); }
    CheckedTensors results(bool dropout) override {
        CheckedTensors all = (dropout ? call_ : call_without_dropout_).results(outputs_);
        return select_ ? select_(std::move(all)) : all;
    }
    const runtime::BindingBase& binding() const override { return operation_.binding(); }

private:
    Operation operation_;
    TensorCall call_;
    TensorCall call_without_dropout_;
    std::vector<std::string> outputs_;
    Select select_;
};

// Floating tensors narrower than `dtype`, and all of dtype `storage`, in `dtype`; others as they are.
std::vector<NamedInput> in_dtype(const std::vector<NamedInput>& inputs, DType storage, DType dtype);
at::Tensor in_dtype(const at::Tensor& tensor, DType storage, DType dtype);

// The request and its place, as a use without a configured backend.
resolver::SlotUse bench_use(Kind kind, std::shared_ptr<Request> request);
// Common members of a request.
void fill_request(Request& request, const BenchSettings& settings, DType dtype, Pass pass);

}  // namespace switchyard::bench
