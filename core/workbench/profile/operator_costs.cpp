#include "core/workbench/profile/operator_costs.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>

#include <switchyard/interfaces/torch_types.h>

namespace switchyard::profile {
namespace {

using Product = OperatorFacts::Product;
using Values = c10::ArrayRef<const c10::IValue>;

constexpr std::array<std::pair<std::string_view, Product>, 9> products{{
    {"aten::mm", Product::mm},
    {"aten::addmm", Product::addmm},
    {"aten::addmm_", Product::addmm},
    {"aten::_addmm_activation", Product::addmm},
    {"aten::bmm", Product::bmm},
    {"aten::baddbmm", Product::baddbmm},
    {"aten::baddbmm_", Product::baddbmm},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", Product::attention},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", Product::attention_backward},
}};

// What only hands out memory.
constexpr std::array<std::string_view, 8> makes_memory{"aten::empty",       "aten::empty_like",
                                                       "aten::new_empty",   "aten::empty_strided",
                                                       "aten::resize_",     "aten::new_empty_strided",
                                                       "aten::lift_fresh_", "aten::set_"};

template <class Visit>
void each_tensor(const c10::IValue& value, const Visit& visit) {
    if (value.isTensor()) {
        if (const auto& tensor = value.toTensor(); tensor.defined()) visit(tensor);
    } else if (value.isTensorList() || value.isOptionalTensorList()) {
        for (const auto& one : value.toListRef()) each_tensor(one, visit);
    }
}

const at::Tensor* matrix(Values inputs, std::size_t at, std::int64_t dim) {
    if (inputs.size() <= at || !inputs[at].isTensor()) return nullptr;
    const auto& tensor = inputs[at].toTensor();
    return tensor.defined() && tensor.dim() == dim ? &tensor : nullptr;
}

double product_of(Values inputs, std::size_t first, std::int64_t dim, DType& dtype) {
    const auto* const a = matrix(inputs, first, dim);
    const auto* const b = matrix(inputs, first + 1, dim);
    if (a == nullptr || b == nullptr) return 0.0;
    if (const auto known = from_scalar_type(a->scalar_type())) dtype = *known;
    return 2.0 * static_cast<double>(a->numel()) * static_cast<double>(b->size(-1));
}

// Values of the backward begin with the gradient. Of a causal mask the half counts.
double attention_of(Values inputs, bool backward, DType& dtype) {
    const std::size_t first = backward ? 1 : 0;
    const auto* const q = matrix(inputs, first, 4);
    const auto* const k = matrix(inputs, first + 1, 4);
    if (q == nullptr || k == nullptr) return 0.0;
    if (const auto known = from_scalar_type(q->scalar_type())) dtype = *known;
    const std::size_t flag = backward ? 7 : 4;
    const bool causal = inputs.size() > flag && inputs[flag].isBool() && inputs[flag].toBool();
    const double forward = 4.0 * static_cast<double>(q->numel()) * static_cast<double>(k->size(2));
    return forward * (backward ? 2.0 : 1.0) * (causal ? 0.5 : 1.0);
}

double operations(Product product, Values inputs, DType& dtype) {
    switch (product) {
        case Product::none:
            return 0.0;
        case Product::mm:
            return product_of(inputs, 0, 2, dtype);
        case Product::addmm:
            return product_of(inputs, 1, 2, dtype);
        case Product::bmm:
            return product_of(inputs, 0, 3, dtype);
        case Product::baddbmm:
            return product_of(inputs, 1, 3, dtype);
        case Product::attention:
            return attention_of(inputs, false, dtype);
        case Product::attention_backward:
            return attention_of(inputs, true, dtype);
    }
    return 0.0;
}

}  // namespace

double tensor_bytes(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.layout() != at::kStrided || !tensor.has_storage()) return 0.0;
    const auto all = static_cast<double>(tensor.numel()) * static_cast<double>(tensor.element_size());
    return std::min(all, static_cast<double>(tensor.storage().nbytes()));
}

OperatorFacts facts_of(const at::RecordFunction& function) {
    OperatorFacts facts;
    const std::string_view name(function.name());
    for (const auto& [known, product] : products) {
        if (name == known) facts.product = product;
    }
    facts.moves = std::ranges::find(makes_memory, name) == makes_memory.end();
    const auto schema = function.operator_schema();
    if (!schema) return facts;
    facts.in_place = schema->is_mutable();
    if (facts.in_place || schema->returns().empty()) return facts;
    const auto* const alias = schema->returns().front().alias_info();
    if (alias != nullptr && !alias->isWrite()) facts.moves = false;
    return facts;
}

Cost cost_of_inputs(const OperatorFacts& facts, Values inputs, DType& dtype) {
    Cost cost;
    if (!facts.moves) return cost;
    for (const auto& input : inputs)
        each_tensor(input, [&](const at::Tensor& tensor) { cost.read += tensor_bytes(tensor); });
    if (facts.in_place && !inputs.empty())
        each_tensor(inputs[0], [&](const at::Tensor& tensor) { cost.written += tensor_bytes(tensor); });
    cost.flops = operations(facts.product, inputs, dtype);
    return cost;
}

double written_bytes(const OperatorFacts& facts, const std::vector<c10::IValue>& outputs) {
    double bytes = 0.0;
    if (!facts.moves || facts.in_place) return bytes;
    for (const auto& output : outputs)
        each_tensor(output, [&](const at::Tensor& tensor) { bytes += tensor_bytes(tensor); });
    return bytes;
}

}  // namespace switchyard::profile
