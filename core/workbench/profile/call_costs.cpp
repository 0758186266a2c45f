#include "core/workbench/profile/call_costs.h"

#include <algorithm>
#include <vector>

#include <switchyard/interfaces/kinds.h>
#include "core/workbench/bench/bench_attention.h"
#include "core/workbench/profile/operator_costs.h"

namespace switchyard::profile {
namespace {

// Read where they lie: an operator would be seen as one of the step.
std::vector<std::int64_t> whole_numbers(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.is_cpu() || tensor.scalar_type() != at::kInt || !tensor.is_contiguous())
        return {};
    const auto* const first = tensor.const_data_ptr<std::int32_t>();
    return {first, first + tensor.numel()};
}

// Of sequence i.
std::int64_t prefix_of(const std::vector<std::int64_t>& prefixes, std::size_t i) {
    return i < prefixes.size() ? prefixes[i] : 0;
}

using Inputs = std::span<const at::Tensor* const>;

bool needs(Inputs inputs, std::size_t at) {
    return inputs.size() > at && inputs[at]->defined() && inputs[at]->requires_grad();
}

double elements(Inputs inputs) {
    return inputs.empty() || !inputs[0]->defined() ? 0.0 : static_cast<double>(inputs[0]->numel());
}

// Of inputs x and weight [out, in].
void add_product(CallCosts& costs, Inputs inputs) {
    if (inputs.size() < 2 || !inputs[0]->defined() || !inputs[1]->defined()) return;
    const double one = 2.0 * elements(inputs) * static_cast<double>(inputs[1]->size(0));
    costs.forward.flops += one;
    costs.backward.flops += one * ((needs(inputs, 0) ? 1.0 : 0.0) + (needs(inputs, 1) ? 1.0 : 0.0));
}

void add_attention(CallCosts& costs, const AttentionParams* params, Inputs inputs) {
    if (params == nullptr || inputs.size() < 3 || !inputs[1]->defined() || !inputs[2]->defined()) return;
    const auto &q = *inputs[0], &k = *inputs[1], &v = *inputs[2];
    const bool packed = params->layout == Layout::packed;
    const double heads = static_cast<double>(q.size(packed ? -2 : 1));
    const double width = static_cast<double>(q.size(-1) + v.size(-1));
    const double forward = 2.0 * visible_pairs(*params, q, k) * heads * width;
    costs.forward.flops += forward;
    costs.backward.flops += 2.0 * forward;
}

void add_elements(CallCosts& costs, Inputs inputs, double forward, double backward) {
    costs.forward.flops += forward * elements(inputs);
    costs.backward.flops += backward * elements(inputs);
}

void add_traffic(CallCosts& costs, Inputs inputs, const runtime::Tensors& outputs) {
    double in = 0.0, out = 0.0, gradients = 0.0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const double bytes = tensor_bytes(*inputs[i]);
        in += bytes;
        if (needs(inputs, i)) gradients += bytes;
    }
    for (const auto& output : outputs) out += tensor_bytes(output);
    costs.forward.read = in;
    costs.forward.written = out;
    if (gradients == 0.0) {
        costs.backward = {};
        return;
    }
    costs.backward.read = in + out;
    costs.backward.written = gradients;
}

}  // namespace

double visible_pairs(const AttentionParams& params, const at::Tensor& q, const at::Tensor& k) {
    const auto& mask = params.mask;
    const auto prefixes =
        mask.kinds.has(MaskKind::prefix) ? whole_numbers(mask.prefix_lengths) : std::vector<std::int64_t>();
    double pairs = 0.0;
    if (params.layout == Layout::packed) {
        const auto of_q = whole_numbers(mask.cu_seqlens_q), of_k = whole_numbers(mask.cu_seqlens_k);
        for (std::size_t i = 1; i < std::min(of_q.size(), of_k.size()); ++i) {
            const auto queries = of_q[i] - of_q[i - 1], keys = of_k[i] - of_k[i - 1];
            pairs += bench::visible_pairs(mask, queries, keys, keys - queries, prefix_of(prefixes, i - 1));
        }
        return pairs;
    }
    const auto batch = q.size(0), queries = q.size(2), given = k.size(2);
    const auto lengths =
        mask.kinds.has(MaskKind::key_lengths) ? whole_numbers(mask.key_lengths) : std::vector<std::int64_t>();
    if (lengths.empty() && prefixes.empty())
        return static_cast<double>(batch) * bench::visible_pairs(mask, queries, given, given - queries, 0);
    for (std::int64_t row = 0; row < batch; ++row) {
        const auto at = static_cast<std::size_t>(row);
        const auto keys = at < lengths.size() ? std::min(lengths[at], given) : given;
        pairs += bench::visible_pairs(mask, queries, keys, given - queries, prefix_of(prefixes, at));
    }
    return pairs;
}

CallCosts costs_of(const runtime::BindingBase& binding, const runtime::KernelCall& call, Inputs inputs,
                   const runtime::Tensors& outputs) {
    CallCosts costs;
    const std::string_view kind(binding.slot().data(),
                                std::min(binding.slot().find('.'), binding.slot().size()));
    if (kind == name(Kind::linear)) {
        add_product(costs, inputs);
    } else if (kind == name(Kind::attention)) {
        add_attention(costs, call.attention(), inputs);
    } else if (kind == name(Kind::loss)) {
        add_product(costs, inputs);
        add_elements(costs, inputs, 6.0, 3.0);
    } else {
        add_elements(costs, inputs, 8.0, 12.0);
    }
    add_traffic(costs, inputs, outputs);
    return costs;
}

}  // namespace switchyard::profile
