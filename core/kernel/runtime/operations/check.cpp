#include "core/kernel/runtime/operations/check.h"

#include <algorithm>

#include <switchyard/interfaces/torch_types.h>

namespace switchyard::runtime {
namespace {

bool is_int32_row(const at::Tensor& tensor) {
    return tensor.defined() && tensor.dim() == 1 && tensor.scalar_type() == at::kInt;
}

// The values in a row, if they can be read without waiting for a device; else undefined.
at::Tensor readable(const at::Tensor& tensor) { return tensor.is_cpu() ? tensor.contiguous() : at::Tensor(); }

}  // namespace

void require_tensor(const BindingBase& binding, const char* what, const at::Tensor& tensor) {
    const Request& request = binding.request();
    require(binding, tensor.defined(), what, " is not given");
    if (tensor.scalar_type() != to_scalar_type(request.dtype)) [[unlikely]] {
        refuse(binding, what, " is ", tensor.scalar_type(), ", bound for ", name(request.dtype));
    }
    if (tensor.device().type() != to_device_type(request.device)) [[unlikely]] {
        refuse(binding, what, " is on ", tensor.device(), ", bound for ", name(request.device));
    }
}

bool has_part(const resolver::Composed& composed, std::string_view part) {
    return std::find(composed.begin(), composed.end(), part) != composed.end();
}

void check_binding(const BindingBase& binding, const resolver::Composed& composed,
                   std::initializer_list<std::string_view> possible, double dropout) {
    for (const std::string& part : composed) {
        if (std::find(possible.begin(), possible.end(), part) != possible.end()) continue;
        refuse(binding, "cannot be composed with '", part, "'");
    }
    if (binding.gradient() == GradientMode::none && binding.request().needs_grad) {
        refuse(binding, "gradients are needed, and this component has none");
    }
    if (binding.gradient() == GradientMode::recompute && binding.random() == RandomSource::library &&
        dropout > 0.0) {
        refuse(binding, "with dropout ", dropout,
               " its gradient cannot be recomputed by the reference, which does not draw "
               "from LibTorch's generator");
    }
}

void require_cu_seqlens(const BindingBase& binding, const char* what, const at::Tensor& cu_seqlens,
                        std::int64_t total) {
    require(binding, is_int32_row(cu_seqlens) && cu_seqlens.size(0) >= 1, what,
            " must be int32 [sequences + 1]");
    const at::Tensor dense = readable(cu_seqlens);
    if (!dense.defined()) return;
    const auto* const begin = dense.const_data_ptr<std::int32_t>();
    const std::int64_t count = cu_seqlens.size(0);
    require(binding, begin[0] == 0, what, " must start at 0, got ", begin[0]);
    for (std::int64_t i = 1; i < count; ++i) {
        require(binding, begin[i] >= begin[i - 1], what, " must not decrease, but entry ", i, " is ",
                begin[i], " after ", begin[i - 1]);
    }
    require(binding, begin[count - 1] == total, what, " must end at the total of ", total, ", got ",
            begin[count - 1]);
}

void require_tokens(const BindingBase& binding, const at::Tensor& x, const Tokens& tokens) {
    const bool packed = tokens.layout == Layout::packed;
    if (x.dim() != (packed ? 2 : 3)) [[unlikely]] {
        refuse(binding, "dropout counts by tokens in the ", name(tokens.layout),
               " layout, for which x must be ", packed ? "[total, width]" : "[batch, seq, width]", ", got ",
               x.sizes());
    }
    if (packed) require_cu_seqlens(binding, "cu_seqlens", tokens.cu_seqlens, x.size(0));
}

void require_lengths(const BindingBase& binding, const char* what, const at::Tensor& lengths,
                     std::int64_t count, std::int64_t limit) {
    require(binding, is_int32_row(lengths) && lengths.size(0) == count, what, " must be int32 [", count,
            "], one a sequence");
    const at::Tensor dense = readable(lengths);
    if (!dense.defined()) return;
    const auto* const values = dense.const_data_ptr<std::int32_t>();
    for (std::int64_t i = 0; i < count; ++i) {
        require(binding, values[i] >= 0 && values[i] <= limit, what, "[", i, "] is ", values[i],
                ", expected 0..", limit);
    }
}

std::uint64_t versions_of(std::initializer_list<const at::Tensor*> tensors) {
    std::uint64_t sum = 0;
    for (const at::Tensor* tensor : tensors) {
        if (tensor->defined() && !tensor->is_inference())
            sum += static_cast<std::uint64_t>(tensor->_version());
    }
    return sum;
}

}  // namespace switchyard::runtime
