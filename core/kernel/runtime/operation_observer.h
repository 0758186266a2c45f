// Sees the operations that a model calls, whole: with everything that they got, parameters included, and with
// what the model gets of them, which autograd knows already.
//
// An observer of calls (call_observer.h) sees what a component got and gave, as tensors with names. With what
// is seen here an operation can be called a second time, as the model called it. There is none by default,
// and then an operation pays one load of an atomic pointer. The graph is the same with and without one.
#pragma once

#include <atomic>
#include <utility>

namespace switchyard {
struct AttentionInputs;
struct AttentionParams;
struct AttentionOutputs;
struct NormalizationInputs;
struct NormalizationParams;
struct NormalizationOutputs;
struct ActivationInputs;
struct ActivationParams;
struct LinearInputs;
struct LossInputs;
struct LossParams;
struct LossOutputs;
}  // namespace switchyard

namespace at {
class Tensor;
}

namespace switchyard::runtime {

class AttentionOp;
class NormalizationOp;
class ActivationOp;
class LinearOp;
class LossOp;
struct LinearContext;

// Told after each call that returned, on whichever thread it ran: what recomputation runs again, too. What is
// thrown ends the step. Inputs that a loss may overwrite are copies made before it ran.
class OperationObserver {
public:
    virtual ~OperationObserver() = default;
    virtual void called(const AttentionOp& op, const AttentionInputs& inputs, const AttentionParams& params,
                        const AttentionOutputs& made) = 0;
    virtual void called(const NormalizationOp& op, const NormalizationInputs& inputs,
                        const NormalizationParams& params, const NormalizationOutputs& made) = 0;
    virtual void called(const ActivationOp& op, const ActivationInputs& inputs,
                        const ActivationParams& params, const at::Tensor& made) = 0;
    virtual void called(const LinearOp& op, const LinearInputs& inputs, const LinearContext& context,
                        const at::Tensor& made) = 0;
    virtual void called(const LossOp& op, const LossInputs& inputs, const LossParams& params,
                        const LossOutputs& made) = 0;
};

namespace observed {
inline std::atomic<OperationObserver*> operations{nullptr};
}  // namespace observed

inline OperationObserver* operation_observer() {
    return observed::operations.load(std::memory_order_acquire);
}

// Installs an observer for its own lifetime. Throws std::logic_error if there is one already.
class ObserveOperations {
public:
    explicit ObserveOperations(OperationObserver& observer);
    ~ObserveOperations();
    ObserveOperations(const ObserveOperations&) = delete;
    ObserveOperations& operator=(const ObserveOperations&) = delete;
};

// `made`, once the observer has seen it.
template <class Op, class Inputs, class Params, class Made>
Made shown(const Op& op, const Inputs& inputs, const Params& params, Made made) {
    if (auto* const observer = operation_observer(); observer != nullptr) [[unlikely]]
        observer->called(op, inputs, params, made);
    return made;
}

}  // namespace switchyard::runtime
