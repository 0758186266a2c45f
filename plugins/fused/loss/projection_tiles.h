// Tiles of the logits of a projection: operands in the order that their products read them in. `Storage` lies
// in memory, `Compute` (it, or float) is multiplied.
//
// Legend:  R rows  C classes  D width
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <ATen/core/Tensor.h>

#include <switchyard/sdk/cpu/tile_operands.h>

#include "common/rows.h"
#include "projection_kernels.h"

namespace switchyard::fused {

constexpr std::int64_t tile_classes = 256;
// Of a product at once: its right operand stays in the second cache, and a long sum in one register loses
// digits that float's results have.
template <class Compute>
constexpr std::int64_t most_depth = tiles::in_pairs<Compute> ? 1024 : 256;

// c[m, n] = a[m, k] b[k, n], added to what is there where `add` says so.
template <class Compute>
void deep_product(std::int64_t m, std::int64_t n, std::int64_t k, const Compute* a, std::int64_t lda,
                  const Compute* b, float* c, std::int64_t ldc, bool add) {
    for (std::int64_t begin = 0; begin < k; begin += most_depth<Compute>) {
        tiles::product(m, n, std::min(most_depth<Compute>, k - begin), a + begin, lda, b + begin * n, n, c,
                       ldc, add || begin > 0);
    }
}

// Some rows of the weight as a left operand.
template <class Compute>
struct Classes {
    std::int64_t first = 0, count = 0;
    const Compute* data = nullptr;  // [count, depth]
    std::int64_t depth = 0;
};

template <class Storage, class Compute>
class LogitsTiles {
public:
    struct Scratch {
        tiles::Buffer<float> products;
        tiles::Buffer<Compute> classes;
    };

    // All dense; x is Compute, the weight Storage, the bias float or undefined.
    LogitsTiles(const at::Tensor& x_RD, const at::Tensor& weight_CD, const at::Tensor& bias_C)
        : rows(x_RD.size(0)),
          width(x_RD.size(1)),
          classes(weight_CD.size(0)),
          type_(weight_CD.scalar_type()),
          weight_(data_of<Storage>(weight_CD)),
          bias_(data_of<float>(bias_C)),
          kernels_(projection_kernels()) {
        x_.fit(tiles::up16(rows) * tiles::even(width));
        struct None {};
        const auto* const x = data_of<Compute>(x_RD);
        tiles::run_tasks<None>((rows + tile_columns - 1) / tile_columns, [&](std::int64_t tile, None&) {
            const std::int64_t first = tile * tile_columns;
            tiles::right_of_transposed(kernels_.panels, tiles::Source<Compute>{x + first * width, width},
                                       std::min(tile_columns, rows - first), width, columns(first),
                                       x_.data() + first * tiles::even(width));
        });
    }

    // Where they lie if they can be multiplied there.
    Classes<Compute> operand(std::int64_t first, std::int64_t count, Scratch& scratch) const {
        const Storage* const from = weight_ + first * width;
        if constexpr (std::is_same_v<Storage, Compute>) {
            if (!tiles::in_pairs<Compute> || width == tiles::even(width)) return {first, count, from, width};
            const std::int64_t depth = tiles::even(width);
            scratch.classes.fit(tile_classes * depth);
            tiles::left(tiles::Source<Storage>{from, width}, count, width, count, scratch.classes.data());
            return {first, count, scratch.classes.data(), depth};
        } else {
            scratch.classes.fit(tile_classes * width);
            kernels_.rows.to_floats(type_, from, count * width, scratch.classes.data());
            return {first, count, scratch.classes.data(), width};
        }
    }

    // body(first row, tile) for the rows [begin, end); `begin` is a multiple of tile_columns.
    template <class Body>
    void over_rows(std::int64_t begin, std::int64_t end, const Classes<Compute>& some, Scratch& scratch,
                   const Body& body) const {
        scratch.products.fit(tile_classes * tile_columns);
        const float* const bias = bias_ == nullptr ? nullptr : bias_ + some.first;
        for (std::int64_t row = begin; row < end; row += tile_columns) {
            const std::int64_t n = columns(row);
            deep_product(some.count, n, some.depth, some.data, some.depth,
                         x_.data() + row * tiles::even(width), scratch.products.data(), tile_columns, false);
            body(row, LogitsTile{scratch.products.data(), some.count, n, bias});
        }
    }

    const std::int64_t rows, width, classes;

private:
    // Of the tile that begins with this row, filled up.
    std::int64_t columns(std::int64_t row) const { return std::min(tile_columns, tiles::up16(rows - row)); }

    at::ScalarType type_;
    const Storage* weight_;
    const float* bias_;
    const ProjectionKernels& kernels_;
    tiles::Buffer<Compute> x_;  // [tiles of R][D, or pairs of it][rows of the tile]
};

}  // namespace switchyard::fused
