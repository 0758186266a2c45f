// Keys or values of tokens as a cache stores them: in the dtype of attention, in a narrower one, or as int8
// with a scale for each token and head.
//
// Who makes them wide again is the core (`widen`), before attention is called: components take keys and
// values in the dtype of q alone. A narrow cache so costs the memory of one layer's wide keys and values and
// no more.
//
// int8: x = scale * q with scale = max |x| / 127 over the D numbers of a token in a head, so that no number
// is off by more than half a scale (symmetric absmax quantization, as of activations in Dettmers et al.
// 2022, arXiv:2208.07339, section 2.1).
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::model {

struct TokenRows {
    at::Tensor values;  // [..., M, D]
    at::Tensor scales;  // float32 [..., M]; undefined but for int8

    // The same place of both.
    TokenRows narrow(std::int64_t dim, std::int64_t start, std::int64_t length) const;
    void zero() const;
    std::int64_t bytes() const;
    // The first `length` tokens of each row, of rows that are as many and stored alike.
    void copy_from(const TokenRows& other, std::int64_t length) const;
};

// Not initialized; sizes [..., M, D].
TokenRows empty_rows(std::vector<std::int64_t> sizes, at::ScalarType stored, at::Device device);

// Some tokens of a row: where they begin.
struct TokenPlace {
    std::int64_t row = 0, first = 0;
};

// to[to.row, h, to.first + i] = from[from.row, h, from.first + i] for each head h and i < count: from
// [R, K, n, D], to [R, K, M, D], any strides.
void store(const at::Tensor& from_RKnD, TokenPlace from, std::int64_t count, const TokenRows& to_RKMD,
           TokenPlace to);
// As `store` between rows that are stored alike, bit for bit.
void copy(const TokenRows& from_RKMD, TokenPlace from, std::int64_t count, const TokenRows& to_RKMD,
          TokenPlace to);
// to[r, h, places[r, i]] = from[r, h, i]: from [R, K, n, D], to [R, K, M, D], places int64 [R, n] on their
// device. Nothing is read on the host.
void store_at(const at::Tensor& from_RKnD, const TokenRows& to_RKMD, const at::Tensor& places);
// Into memory of the same sizes and a wider dtype.
void widen(const TokenRows& rows, const at::Tensor& to);

}  // namespace switchyard::model
