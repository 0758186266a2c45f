// Logits that a model gave, where they can be looked at.
#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

namespace switchyard::infer {

class LogitsTable {
public:
    LogitsTable() = default;
    // [R, V] or [R, n, V], on any device.
    explicit LogitsTable(const at::Tensor& logits)
        : values_(logits.to(at::kCPU, at::kFloat).contiguous()), size_(values_.size(-1)) {}

    // Row `index` of all in a row: of [R, n, V] that of row r after token i is r * n + i.
    std::span<const float> operator[](std::size_t index) const {
        const auto* const first = values_.const_data_ptr<float>();
        return {first + static_cast<std::int64_t>(index) * size_, static_cast<std::size_t>(size_)};
    }

private:
    at::Tensor values_;
    std::int64_t size_ = 0;
};

}  // namespace switchyard::infer
