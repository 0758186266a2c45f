// Hidden states as dense rows, how rows are dealt out to threads, and sums over rows whose result does not
// depend on how many threads there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/dropout.h>
#include <switchyard/interfaces/tokens.h>

#include "dropout_row.h"

namespace switchyard::fused {

// [rows, width] of a tensor [..., width].
struct RowShape {
    std::int64_t rows = 0, width = 0;
};
RowShape row_shape(const at::Tensor& x);

// Dense, the tensor itself if it is so already; an undefined one stays so.
at::Tensor dense(const at::Tensor& x);
// A parameter as kernels read it: dense float32.
at::Tensor dense_float(const at::Tensor& parameter);
template <class T>
const T* data_of(const at::Tensor& x) {
    return x.defined() ? static_cast<const T*>(x.const_data_ptr()) : nullptr;
}
template <class T>
T* mutable_data_of(const at::Tensor& x) {
    return x.defined() ? static_cast<T*>(x.mutable_data_ptr()) : nullptr;
}

// body(T()) with the type that a tensor of this dtype holds: float, c10::BFloat16 or c10::Half.
template <class Body>
void in_storage(at::ScalarType type, const Body& body) {
    if (type == at::kFloat) return body(float());
    if (type == at::kBFloat16) return body(c10::BFloat16());
    body(c10::Half());
}

// Where the rows of hidden states [batch, seq, width] or [total, width] stand in their sequences; empty when
// the dropout is not active.
std::vector<RowPosition> positions_of(const Dropout& dropout, const Tokens& tokens, at::IntArrayRef sizes);
RowDropout row_dropout(const Dropout& dropout, const std::vector<RowPosition>& positions);

// True for a result that is larger than the last cache (so it would not be found there anyway) and whose
// rows, of `width` values, start at whole vectors.
bool may_stream(const at::Tensor& result, std::int64_t width, std::int64_t last_cache_bytes);
// The same for all results of a call that goes through memory once: where what it reads and writes does not
// fit the last cache together. Undefined tensors do not count.
bool may_stream(at::ArrayRef<at::Tensor> reads, at::ArrayRef<at::Tensor> results, std::int64_t width,
                std::int64_t last_cache_bytes);

// body(first row, end) on LibTorch's threads; for work whose rows have nothing to do with each other.
template <class Body>
void over_rows(const RowShape& shape, const Body& body) {
    const std::int64_t grain = 1 + 16384 / std::max<std::int64_t>(shape.width, 1);
    at::parallel_for(0, shape.rows, grain, body);
}

// Sums over rows: the rows are cut into parts by their number alone, each part is summed by one thread in
// order, and the parts are joined in order.
class RowSums {
public:
    // `vectors` sums of [width] each.
    RowSums(const RowShape& shape, int vectors);

    // body(first row, end, sums): `sums` [vectors, width] are zero at first.
    template <class Body>
    void run(const Body& body) {
        at::parallel_for(0, parts_, 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t part = first; part < last; ++part) {
                float* const sums = sums_of(part);
                std::fill_n(sums, vectors_ * shape_.width, 0.0F);
                body(part * rows_, std::min(shape_.rows, (part + 1) * rows_), sums);
            }
        });
    }
    // One of the vectors, in this dtype.
    at::Tensor joined(int vector, at::ScalarType type) const;

private:
    float* sums_of(std::int64_t part) const;

    RowShape shape_;
    int vectors_;
    std::int64_t parts_, rows_;
    at::Tensor partial_;  // [parts, vectors, width]
};

}  // namespace switchyard::fused
