// Legend:  R rows  I features in  O features out
#include "panel_linear.h"

#include <memory>
#include <stdexcept>

#include <switchyard/sdk/serves.h>

#include "panels.h"

using namespace switchyard;

namespace {

// What `prepare` makes. The core keeps it, and several bindings may read it at once: it never changes.
struct Form {
    Panels forward;   // of W [O, I]
    Panels gradient;  // of W^T [I, O]; undefined unless gradients were announced
};

const Form* form_of(const LinearWeight& weight) {
    return weight.prepared == nullptr ? nullptr : static_cast<const Form*>(weight.prepared->form.get());
}

}  // namespace

Verdict PanelLinear::supports(const LinearRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu", name(request.device));
    REQUIRE(verdict, request.dtype == DType::float32 || request.dtype == DType::bfloat16, Code::DType,
            "dtype", "float32 or bfloat16", name(request.dtype));
    require_dense(verdict, request);
    return verdict;
}

PreparedWeight PanelLinear::prepare(const at::Tensor& weight_OI, bool for_gradient) {
    auto form = std::make_shared<Form>();
    form->forward = pack(weight_OI);
    std::int64_t bytes = form->forward.bytes();
    if (for_gradient) {
        form->gradient = pack(weight_OI.t());
        bytes += form->gradient.bytes();
    }
    return {form, bytes, true};
}

at::Tensor PanelLinear::forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) {
    executed();
    bfloat16_ = x.values.scalar_type() == at::kBFloat16;
    // A call may come without a form, as a single product that nothing was prepared for.
    const Form* const form = form_of(weight);
    return product(x.values, form != nullptr ? form->forward : pack(weight.operand.values), bias);
}

at::Tensor PanelLinear::input_gradient(const LinearOperand& grad, const LinearWeight& weight) {
    const Form* const form = form_of(weight);
    if (form == nullptr) return product(grad.values, pack(weight.operand.values.t()), {});
    if (!form->gradient.defined())
        throw std::logic_error("panel_linear: a gradient is asked for that was not announced to prepare");
    return product(grad.values, form->gradient, {});
}

at::Tensor PanelLinear::weight_gradient(const LinearOperand& grad, const LinearOperand& x) {
    return product(grad.values.t(), pack(x.values.t()), {});
}

void* PanelLinear::query(std::string_view question) {
    return component_property(question, {{computes_in_property, bfloat16_ ? "bf16, fp32 sums" : "fp32"},
                                         {thread_counts_property, ""},
                                         {weight_form_property, "panels of 16"}});
}
