#include "core/workbench/model/cache/token_rows.h"

#include <cstring>

#include <ATen/core/List.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>

namespace switchyard::model {
namespace {

constexpr double largest = 127.0;

// As they lie, without a tensor in between: this is what every decoding step does in every layer.
void copy_bytes(const at::Tensor& from_KnD, std::int64_t count, const at::Tensor& to_KMD,
                std::int64_t first) {
    const auto size = static_cast<std::int64_t>(from_KnD.element_size());
    const auto* const from = static_cast<const char*>(from_KnD.const_data_ptr());
    auto* const to = static_cast<char*>(to_KMD.mutable_data_ptr());
    const auto width = static_cast<std::size_t>(from_KnD.size(2) * size);
    for (std::int64_t head = 0; head < from_KnD.size(0); ++head) {
        for (std::int64_t i = 0; i < count; ++i) {
            std::memcpy(to + (head * to_KMD.stride(0) + (first + i) * to_KMD.stride(1)) * size,
                        from + (head * from_KnD.stride(0) + i * from_KnD.stride(1)) * size, width);
        }
    }
}

void copy_values(const at::Tensor& from_KnD, std::int64_t count, const at::Tensor& to_KMD,
                 std::int64_t first) {
    const bool alike = from_KnD.scalar_type() == to_KMD.scalar_type() && from_KnD.is_cpu() &&
                       from_KnD.stride(2) == 1 && to_KMD.stride(2) == 1;
    if (alike) return copy_bytes(from_KnD, count, to_KMD, first);
    to_KMD.narrow(1, first, count).copy_(from_KnD.narrow(1, 0, count));
}

// A token of zeros has a scale of zero, and of what is not finite nothing is hidden.
TokenRows quantized(const at::Tensor& from) {
    const auto values = from.to(at::kFloat);
    const auto scales = values.abs().amax(-1, true).div(largest);
    const auto rounded = values.div(scales.masked_fill(scales.eq(0.0), 1.0)).round();
    return {rounded.masked_fill(rounded.isnan(), 1.0), scales.squeeze(-1)};
}

}  // namespace

void TokenRows::zero() const {
    values.zero_();
    if (scales.defined()) scales.zero_();
}

std::int64_t TokenRows::bytes() const {
    return static_cast<std::int64_t>(values.nbytes() + (scales.defined() ? scales.nbytes() : 0));
}

TokenRows empty_rows(std::vector<std::int64_t> sizes, at::ScalarType stored, at::Device device) {
    const auto options = at::TensorOptions().device(device);
    TokenRows rows{at::empty(sizes, options.dtype(stored)), {}};
    sizes.pop_back();
    if (stored == at::kChar) rows.scales = at::empty(sizes, options.dtype(at::kFloat));
    return rows;
}

TokenRows TokenRows::select(std::int64_t dim, std::int64_t index) const {
    return {values.select(dim, index), scales.defined() ? scales.select(dim, index) : at::Tensor()};
}

TokenRows TokenRows::narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const {
    return {values.narrow(dim, start, length),
            scales.defined() ? scales.narrow(dim, start, length) : at::Tensor()};
}

void TokenRows::copy_from(const TokenRows& other, std::int64_t length) const {
    values.narrow(-2, 0, length).copy_(other.values.narrow(-2, 0, length));
    if (scales.defined()) scales.narrow(-1, 0, length).copy_(other.scales.narrow(-1, 0, length));
}

void store_at(const at::Tensor& from_RKnD, const TokenRows& to_RKMD, const at::Tensor& places) {
    const auto rows = at::arange(places.size(0), places.options()).unsqueeze(1);
    const c10::List<std::optional<at::Tensor>> where{rows, places};
    const auto put = [&](const at::Tensor& from, const at::Tensor& to) {
        to.transpose(1, 2).index_put_(where, from.transpose(1, 2).to(to.scalar_type()));
    };
    if (!to_RKMD.scales.defined()) return put(from_RKnD, to_RKMD.values);
    const auto narrow = quantized(from_RKnD);
    put(narrow.values, to_RKMD.values);
    put(narrow.scales, to_RKMD.scales);
}

void store(const at::Tensor& from_KnD, std::int64_t count, const TokenRows& to_KMD, std::int64_t first) {
    if (count == 0) return;
    if (!to_KMD.scales.defined()) return copy_values(from_KnD, count, to_KMD.values, first);
    const auto narrow = quantized(from_KnD.narrow(1, 0, count));
    to_KMD.values.narrow(1, first, count).copy_(narrow.values);
    to_KMD.scales.narrow(1, first, count).copy_(narrow.scales);
}

void copy(const TokenRows& from_KnD, std::int64_t count, const TokenRows& to_KMD, std::int64_t first) {
    copy_values(from_KnD.values, count, to_KMD.values, first);
    if (from_KnD.scales.defined())
        to_KMD.scales.narrow(1, first, count).copy_(from_KnD.scales.narrow(1, 0, count));
}

at::Tensor widened(const TokenRows& rows, at::ScalarType dtype) {
    if (!rows.scales.defined()) return rows.values.to(dtype);
    return rows.values.to(at::kFloat).mul_(rows.scales.unsqueeze(-1)).to(dtype);
}

}  // namespace switchyard::model
