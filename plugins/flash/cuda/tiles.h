// Sizes of tiles, and the geometry of each launch as a pure function: what a request needs is known on a
// machine without a device, and tested there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <switchyard/sdk/cuda/device_launch.h>

namespace switchyard::flash_cuda {

using switchyard::device::Launch;

constexpr int tile_keys = 64;  // columns of a tile of scores: one group of the dropout generator
constexpr int tile_warps = 4;
constexpr int tile_threads = 32 * tile_warps;
constexpr int element_bytes = 2;

// Head sizes are padded to the next of those that kernels are compiled for; 0: none is as large.
constexpr int padded_dim(std::int64_t head_dim, std::int64_t v_head_dim) {
    const std::int64_t wide = std::max(head_dim, v_head_dim);
    return wide <= 64 ? 64 : wide <= 128 ? 128 : wide <= 256 ? 256 : 0;
}

// Blocks of 16 query rows that one warp owns: as many as its registers hold (255 a thread; outputs take dim /
// 2 numbers a block of 16, scores 32). Two share what is read of keys and values, which is what a product of
// one block waits for. Kernels with terms (launchers.h) have no registers left for that.
constexpr int forward_blocks(int dim, bool terms) { return dim <= 128 && !terms ? 2 : 1; }
constexpr int forward_rows(int dim, bool terms) { return 16 * tile_warps * forward_blocks(dim, terms); }
constexpr int query_pass_rows = 16 * tile_warps;
// The pass over keys keeps two outputs, dk and dv: of a wide head half the columns at a time.
constexpr int key_pass_columns(int dim) { return std::min(dim, 128); }
constexpr int key_pass_parts(int dim) { return dim / key_pass_columns(dim); }
constexpr int decode_rows = 16;  // queries of all heads that share a kv head

// What a launch depends on. `queries` and `keys`: of the longest sequence.
struct Shape {
    std::int64_t sequences = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0;
    int dim = 0;  // padded_dim
};

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr std::size_t tile_bytes(int rows, int dim) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(dim) * element_bytes;
}

constexpr Launch forward_launch(const Shape& s, bool terms) {
    const int rows = forward_rows(s.dim, terms);
    return {s.sequences * s.heads * divide_up(s.queries, rows), tile_threads,
            tile_bytes(rows, s.dim) + 2 * tile_bytes(tile_keys, s.dim)};
}

// Sums of rows of grad_out * out: a thread for each 16 bytes of a row, up to a power of two.
constexpr int row_lanes(std::int64_t v_head_dim) {
    int lanes = 1;
    while (lanes * 8 < v_head_dim) lanes *= 2;
    return lanes;
}
constexpr Launch delta_launch(const Shape& s, std::int64_t v_head_dim) {
    return {divide_up(s.sequences * s.heads * s.queries * row_lanes(v_head_dim), tile_threads), tile_threads,
            0};
}

// For the gradient of a relative bias a tile of scores lies in memory as float, each row one number longer,
// for sums along its diagonals.
constexpr int diagonal_stride = tile_keys + 1;
constexpr std::size_t diagonal_bytes = sizeof(float) * query_pass_rows * diagonal_stride;
constexpr Launch query_pass_launch(const Shape& s, bool distance_gradient) {
    return {s.sequences * s.heads * divide_up(s.queries, query_pass_rows), tile_threads,
            2 * tile_bytes(query_pass_rows, s.dim) + 2 * tile_bytes(tile_keys, s.dim) +
                (distance_gradient ? diagonal_bytes : 0)};
}

// Keys, values, two tiles of queries, one of grad_out; then what the tile's queries have of their softmax and
// delta, and a byte for eight dropout decisions.
constexpr int tile_queries = 64;
constexpr Launch key_pass_launch(const Shape& s) {
    return {s.sequences * s.kv_heads * divide_up(s.keys, tile_keys) * key_pass_parts(s.dim), tile_threads,
            5 * tile_bytes(tile_keys, s.dim) + tile_queries * (3 * sizeof(float) + 8)};
}

// Few queries against many keys: all queries of the heads that share a kv head are one tile, and the keys are
// split over blocks.
constexpr bool is_decoding(const Shape& s) {
    return s.kv_heads > 0 && s.queries > 0 && s.queries * (s.heads / s.kv_heads) <= decode_rows && s.keys > 0;
}
constexpr Launch decode_launch(const Shape& s, int splits) {
    // Two stages of keys and values; what the warps found is joined in the same place.
    return {s.sequences * s.kv_heads * splits, tile_threads,
            tile_bytes(decode_rows, s.dim) + 4 * tile_bytes(tile_keys, s.dim)};
}
constexpr Launch combine_launch(const Shape& s, std::int64_t v_head_dim) {
    return {divide_up(s.sequences * s.heads * s.queries * v_head_dim, tile_threads), tile_threads, 0};
}

// So many blocks that every multiprocessor has two, with at least two tiles of keys for each.
constexpr int decode_splits(const Shape& s, int multiprocessors) {
    const std::int64_t blocks = std::max<std::int64_t>(s.sequences * s.kv_heads, 1);
    const std::int64_t wanted = divide_up(2 * std::max(multiprocessors, 1), blocks);
    const std::int64_t most = std::max<std::int64_t>(divide_up(s.keys, tile_keys) / 2, 1);
    return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, std::min<std::int64_t>(most, 128)));
}

// The most shared memory that any kernel of a head size asks for.
constexpr std::size_t most_shared_bytes(int dim, bool backward, bool distance_gradient) {
    const Shape one{1, 1, 1, 1, 1, dim};
    std::size_t most = std::max(forward_launch(one, false).shared_bytes, decode_launch(one, 1).shared_bytes);
    if (!backward) return most;
    most = std::max(most, key_pass_launch(one).shared_bytes);
    return std::max(most, query_pass_launch(one, distance_gradient).shared_bytes);
}

}  // namespace switchyard::flash_cuda
