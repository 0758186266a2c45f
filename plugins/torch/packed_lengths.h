// The lengths of packed sequences as numbers, read from cu_seqlens once and kept while it is the same tensor,
// not changed since.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard {

class PackedLengths {
public:
    // From cu_seqlens int32 [sequences + 1].
    const std::vector<std::int64_t>& of(const at::Tensor& cu_seqlens) {
        const bool known = !cu_seqlens.is_inference() && source_.defined() && cu_seqlens.is_same(source_) &&
                           cu_seqlens._version() == version_;
        if (known) return lengths_;
        const auto offsets = cu_seqlens.to(at::kCPU, at::kLong).contiguous();
        const auto* data = offsets.const_data_ptr<std::int64_t>();
        lengths_.clear();
        for (std::int64_t i = 1; i < offsets.numel(); ++i) lengths_.push_back(data[i] - data[i - 1]);
        source_ = cu_seqlens.is_inference() ? at::Tensor() : cu_seqlens;
        version_ = source_.defined() ? source_._version() : 0;
        return lengths_;
    }

private:
    at::Tensor source_;
    std::int64_t version_ = 0;
    std::vector<std::int64_t> lengths_;
};

}  // namespace switchyard
