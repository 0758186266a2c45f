#include "core/kernel/runtime/stable/adapters.h"
#include "core/kernel/runtime/stable/exchange.h"

namespace switchyard::runtime::stable {
namespace {

// Operands are dense: reject_unstable refuses requests for others.
class LinearAdapter final : public Linear {
public:
    LinearAdapter(const SwitchyardStableComponent& entry, const CreateInfo& info)
        : Linear(info), made_(entry, Kind::linear, info) {}

    at::Tensor forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) override {
        Exchange exchange;
        return run(functions().forward, exchange,
                   {.struct_size = sizeof(SwitchyardStableLinearCall),
                    .x = exchange.lend(x.values),
                    .weight = exchange.lend(weight.operand.values),
                    .bias = exchange.lend(bias),
                    .grad = nullptr,
                    .result = nullptr});
    }

    at::Tensor input_gradient(const LinearOperand& grad, const LinearWeight& weight) override {
        if (functions().input_gradient == nullptr) return Linear::input_gradient(grad, weight);
        Exchange exchange;
        return run(functions().input_gradient, exchange,
                   {.struct_size = sizeof(SwitchyardStableLinearCall),
                    .x = nullptr,
                    .weight = exchange.lend(weight.operand.values),
                    .bias = nullptr,
                    .grad = exchange.lend(grad.values),
                    .result = nullptr});
    }

    at::Tensor weight_gradient(const LinearOperand& grad, const LinearOperand& x) override {
        if (functions().weight_gradient == nullptr) return Linear::weight_gradient(grad, x);
        Exchange exchange;
        return run(functions().weight_gradient, exchange,
                   {.struct_size = sizeof(SwitchyardStableLinearCall),
                    .x = exchange.lend(x.values),
                    .weight = nullptr,
                    .bias = nullptr,
                    .grad = exchange.lend(grad.values),
                    .result = nullptr});
    }

private:
    using Call = SwitchyardStableLinearCall;

    at::Tensor run(std::int32_t (*function)(void*, Call*), Exchange& exchange, Call call) const {
        const auto status = function(made_.get(), &call);
        return exchange.take(status, {{"its result", call.result}})[0];
    }
    const SwitchyardStableLinear& functions() const { return made_.functions<SwitchyardStableLinear>(); }

    StableInstance made_;
};

}  // namespace

Linear* new_linear(const SwitchyardStableComponent& entry, const CreateInfo& info) {
    return new LinearAdapter(entry, info);
}

}  // namespace switchyard::runtime::stable
