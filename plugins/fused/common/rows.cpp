#include "rows.h"

#include <stdexcept>

#include <ATen/ops/empty.h>

namespace switchyard::fused {

RowShape row_shape(const at::Tensor& x) {
    const std::int64_t width = x.size(-1);
    return {width == 0 ? 0 : x.numel() / width, width};
}

at::Tensor dense(const at::Tensor& x) { return x.defined() ? x.contiguous() : x; }

at::Tensor dense_float(const at::Tensor& parameter) {
    if (!parameter.defined()) return parameter;
    if (parameter.scalar_type() != at::kBFloat16) return parameter.to(at::kFloat).contiguous();
    // LibTorch's own conversion takes longer to begin than a parameter takes to convert, for each token of a
    // text that is generated.
    const at::Tensor from = parameter.contiguous();
    at::Tensor made = at::empty(from.sizes(), from.options().dtype(at::kFloat));
    std::copy_n(from.const_data_ptr<c10::BFloat16>(), from.numel(), made.mutable_data_ptr<float>());
    return made;
}

std::vector<RowPosition> positions_of(const Dropout& dropout, const Tokens& tokens, at::IntArrayRef sizes) {
    std::vector<RowPosition> positions;
    if (!dropout.active()) return positions;
    const auto add = [&](std::int64_t document, std::int64_t rows) {
        for (std::int64_t row = 0; row < rows; ++row)
            positions.push_back({static_cast<std::uint32_t>(document), static_cast<std::uint32_t>(row)});
    };
    if (tokens.layout == Layout::padded) {
        if (sizes.size() != 3)
            throw std::invalid_argument("dropout of padded tokens needs [batch, seq, width]");
        for (std::int64_t b = 0; b < sizes[0]; ++b) add(tokens.first_document + b, sizes[1]);
        return positions;
    }
    const at::Tensor offsets = tokens.cu_seqlens.to(at::kLong).contiguous();
    const auto* const begin = offsets.const_data_ptr<std::int64_t>();
    for (std::int64_t s = 0; s + 1 < offsets.numel(); ++s)
        add(tokens.first_document + s, begin[s + 1] - begin[s]);
    if (static_cast<std::int64_t>(positions.size()) != sizes[0])
        throw std::invalid_argument("dropout: cu_seqlens do not end at the rows of x");
    return positions;
}

RowDropout row_dropout(const Dropout& dropout, const std::vector<RowPosition>& positions) {
    if (!dropout.active()) return {};
    return {dropout.seed, dropout.threshold(), static_cast<float>(dropout.keep_scale()), positions.data()};
}

namespace {

bool starts_at_lines(const at::Tensor& result, std::int64_t width) {
    constexpr std::uint64_t line = 64;
    return static_cast<std::uint64_t>(width * result.element_size()) % line == 0 &&
           reinterpret_cast<std::uintptr_t>(result.const_data_ptr()) % line == 0;
}

std::int64_t bytes_of(at::ArrayRef<at::Tensor> tensors) {
    std::int64_t bytes = 0;
    for (const auto& t : tensors) bytes += t.defined() ? static_cast<std::int64_t>(t.nbytes()) : 0;
    return bytes;
}

}  // namespace

bool may_stream(const at::Tensor& result, std::int64_t width, std::int64_t last_cache_bytes) {
    return may_stream({}, result, width, last_cache_bytes);
}

bool may_stream(at::ArrayRef<at::Tensor> reads, at::ArrayRef<at::Tensor> results, std::int64_t width,
                std::int64_t last_cache_bytes) {
    if (last_cache_bytes <= 0 || bytes_of(reads) + bytes_of(results) <= last_cache_bytes) return false;
    return std::all_of(results.begin(), results.end(), [width](const at::Tensor& result) {
        return !result.defined() || starts_at_lines(result, width);
    });
}

RowSums::RowSums(const RowShape& shape, int vectors)
    : shape_(shape),
      vectors_(vectors),
      parts_(std::clamp<std::int64_t>(shape.rows / 16, 1, 64)),
      rows_((shape.rows + parts_ - 1) / parts_),
      partial_(at::empty({parts_, vectors, shape.width}, at::TensorOptions().dtype(at::kFloat))) {
    if (rows_ > 0) parts_ = (shape.rows + rows_ - 1) / rows_;
}

float* RowSums::sums_of(std::int64_t part) const {
    return partial_.mutable_data_ptr<float>() + part * vectors_ * shape_.width;
}

at::Tensor RowSums::joined(int vector, at::ScalarType type) const {
    at::Tensor sum = at::empty({shape_.width}, at::TensorOptions().dtype(at::kFloat));
    auto* const to = sum.mutable_data_ptr<float>();
    at::parallel_for(0, shape_.width, 4096, [&](std::int64_t begin, std::int64_t end) {
        std::fill(to + begin, to + end, 0.0F);
        for (std::int64_t part = 0; part < parts_; ++part) {
            const float* const from = sums_of(part) + vector * shape_.width;
            for (std::int64_t j = begin; j < end; ++j) to[j] += from[j];
        }
    });
    return sum.to(type);
}

}  // namespace switchyard::fused
