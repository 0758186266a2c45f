#include "core/workbench/model/cache/token_rows.h"

#include <cmath>
#include <cstring>

#include <ATen/core/List.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>

namespace switchyard::model {
namespace {

constexpr double largest = 127.0;

// From there on, [K, count, ...].
at::Tensor part_of(const at::Tensor& x, TokenPlace at, std::int64_t count) {
    return x.select(0, at.row).narrow(1, at.first, count);
}

// As they lie, without a tensor in between: this is what every decoding step does in every layer.
void copy_bytes(const at::Tensor& from, TokenPlace at, std::int64_t count, const at::Tensor& to,
                TokenPlace to_at) {
    const auto size = static_cast<std::int64_t>(from.element_size());
    const auto head_of = [size](const at::Tensor& x, TokenPlace place, std::int64_t head) {
        return (place.row * x.stride(0) + head * x.stride(1) + place.first * x.stride(2)) * size;
    };
    const auto* const source = static_cast<const char*>(from.const_data_ptr());
    auto* const target = static_cast<char*>(to.mutable_data_ptr());
    const auto width = static_cast<std::size_t>(from.size(3) * size);
    for (std::int64_t head = 0; head < from.size(1); ++head) {
        for (std::int64_t i = 0; i < count; ++i)
            std::memcpy(target + head_of(to, to_at, head) + i * to.stride(2) * size,
                        source + head_of(from, at, head) + i * from.stride(2) * size, width);
    }
}

void copy_values(const at::Tensor& from, TokenPlace at, std::int64_t count, const at::Tensor& to,
                 TokenPlace to_at) {
    const bool alike =
        from.scalar_type() == to.scalar_type() && from.is_cpu() && from.stride(3) == 1 && to.stride(3) == 1;
    if (alike) return copy_bytes(from, at, count, to, to_at);
    part_of(to, to_at, count).copy_(part_of(from, at, count));
}

// A token of zeros has a scale of zero, and of what is not finite nothing is hidden.
TokenRows quantized(const at::Tensor& from) {
    const auto values = from.to(at::kFloat);
    const auto scales = values.abs().amax(-1, true).div(largest);
    const auto rounded = values.div(scales.masked_fill(scales.eq(0.0), 1.0)).round();
    return {rounded.masked_fill(rounded.isnan(), 1.0), scales.squeeze(-1)};
}

// As `quantized`, without a tensor in between. The lowest dimension of both lies together.
template <class T>
void quantize_numbers(const at::Tensor& from, TokenPlace at, std::int64_t count, const TokenRows& to,
                      TokenPlace to_at) {
    const auto width = from.size(3);
    const auto &values = to.values, &scales = to.scales;
    const auto* const source = from.const_data_ptr<T>() + at.row * from.stride(0) + at.first * from.stride(2);
    auto* const target = values.mutable_data_ptr<std::int8_t>() + to_at.row * values.stride(0) +
                         to_at.first * values.stride(2);
    auto* const scale_of =
        scales.mutable_data_ptr<float>() + to_at.row * scales.stride(0) + to_at.first * scales.stride(2);
    for (std::int64_t head = 0; head < from.size(1); ++head) {
        for (std::int64_t i = 0; i < count; ++i) {
            const T* const x = source + head * from.stride(1) + i * from.stride(2);
            std::int8_t* const q = target + head * values.stride(1) + i * values.stride(2);
            float most = 0.0F;
            for (std::int64_t d = 0; d < width; ++d) {
                const float size = std::abs(static_cast<float>(x[d]));
                if (size > most || std::isnan(size)) most = size;  // above a NaN is nothing
            }
            const float scale = most / static_cast<float>(largest), divisor = scale == 0.0F ? 1.0F : scale;
            scale_of[head * scales.stride(1) + i * scales.stride(2)] = scale;
            for (std::int64_t d = 0; d < width; ++d) {
                const float rounded = std::nearbyint(static_cast<float>(x[d]) / divisor);
                q[d] = std::isnan(rounded) ? std::int8_t{1} : static_cast<std::int8_t>(rounded);
            }
        }
    }
}

void quantize(const at::Tensor& from, TokenPlace at, std::int64_t count, const TokenRows& to,
              TokenPlace to_at) {
    if (from.is_cpu() && from.stride(3) == 1 && to.values.stride(3) == 1) {
        if (from.scalar_type() == at::kFloat) return quantize_numbers<float>(from, at, count, to, to_at);
        if (from.scalar_type() == at::kBFloat16)
            return quantize_numbers<at::BFloat16>(from, at, count, to, to_at);
        if (from.scalar_type() == at::kHalf) return quantize_numbers<at::Half>(from, at, count, to, to_at);
    }
    const auto narrow = quantized(part_of(from, at, count));
    part_of(to.values, to_at, count).copy_(narrow.values);
    part_of(to.scales, to_at, count).copy_(narrow.scales);
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

void store(const at::Tensor& from_RKnD, TokenPlace from, std::int64_t count, const TokenRows& to_RKMD,
           TokenPlace to) {
    if (count == 0) return;
    if (!to_RKMD.scales.defined()) return copy_values(from_RKnD, from, count, to_RKMD.values, to);
    quantize(from_RKnD, from, count, to_RKMD, to);
}

void copy(const TokenRows& from_RKMD, TokenPlace from, std::int64_t count, const TokenRows& to_RKMD,
          TokenPlace to) {
    copy_values(from_RKMD.values, from, count, to_RKMD.values, to);
    if (from_RKMD.scales.defined())
        part_of(to_RKMD.scales, to, count).copy_(part_of(from_RKMD.scales, from, count));
}

// Whole numbers of 8 bits are in all wider dtypes as they are.
void widen(const TokenRows& rows, const at::Tensor& to) {
    to.copy_(rows.values);
    if (rows.scales.defined()) to.mul_(rows.scales.unsqueeze(-1));
}

}  // namespace switchyard::model
