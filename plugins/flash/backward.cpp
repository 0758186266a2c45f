#include <cmath>
#include <type_traits>

#include "panels.h"
#include "passes.h"
#include "tile.h"

namespace switchyard::flash {
namespace {

constexpr std::int64_t key_block = 256;
constexpr float infinity = std::numeric_limits<float>::infinity();

// Everything that a thread needs for one kv head of one sequence.
template <class Compute>
struct Scratch {
    Buffer<Compute> k_transposed, v_transposed, k_right;  // of all keys
    Buffer<float> dk, dv;                                 // of all keys
    Buffer<Compute> q, q_right, grad, grad_right;         // of a tile of queries
    Buffer<float> p, dropped, ds, slope, dq;
    Buffer<Compute> p_transposed, rounded, ds_transposed;
    float delta[tile_rows], lse[tile_rows];

    void fit(const Call& call, std::int64_t keys) {
        const std::int64_t d = even(call.head_dim), e = even(call.v_head_dim), tile = tile_rows * key_block;
        k_transposed.fit(keys * d);
        v_transposed.fit(keys * e);
        k_right.fit(keys * call.head_dim);
        zeros(dk, keys * call.head_dim);
        zeros(dv, keys * call.v_head_dim);
        q.fit(tile_rows * d);
        q_right.fit(tile_rows * call.head_dim);
        grad.fit(tile_rows * e);
        grad_right.fit(tile_rows * call.v_head_dim);
        p.fit(tile);
        ds.fit(tile);
        if (call.dropout.active()) dropped.fit(tile);
        if (call.soft_cap > 0.0F) slope.fit(tile);
        dq.fit(tile_rows * call.head_dim);
        p_transposed.fit(tile);
        if (in_pairs<Compute>) rounded.fit(tile);
        ds_transposed.fit(tile);
    }

    static void zeros(Buffer<float>& buffer, std::int64_t size) {
        buffer.fit(size);
        std::fill_n(buffer.data(), size, 0.0F);
    }
};

template <class Storage, class Compute>
class Backward {
public:
    Backward(const Call& call, const BackwardRows& rows, bool want_distance)
        : call_(call), rows_(rows), want_distance_(want_distance), kernels_(row_kernels()) {}

    std::vector<double> run() {
        const auto sequences = static_cast<std::int64_t>(call_.sequences.size());
        if (want_distance_)
            distance_.resize(static_cast<std::size_t>(sequences * call_.heads * call_.distance_span), 0.0F);
        run_tasks<Scratch<Compute>>(sequences * call_.kv_heads,
                                    [this](std::int64_t task, Scratch<Compute>& scratch) {
                                        run_kv_head(task / call_.kv_heads, task % call_.kv_heads, scratch);
                                    });
        return summed_distances();
    }

private:
    // In the order of sequences, so that the result does not depend on threads.
    std::vector<double> summed_distances() const {
        if (!want_distance_) return {};
        const auto per_sequence = static_cast<std::size_t>(call_.heads * call_.distance_span);
        std::vector<double> sums(per_sequence, 0.0);
        for (std::size_t i = 0; i < distance_.size(); ++i) sums[i % per_sequence] += distance_[i];
        return sums;
    }

    void run_kv_head(std::int64_t s, std::int64_t kv_head, Scratch<Compute>& scratch) {
        const Sequence& sequence = call_.sequences[s];
        scratch.fit(call_, up16(sequence.keys));
        for (std::int64_t block = 0; block < sequence.keys; block += key_block)
            pack(sequence, kv_head, block, scratch);
        const std::int64_t group = call_.heads / call_.kv_heads;
        for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
            for (std::int64_t first = 0; first < sequence.queries; first += tile_rows)
                run_queries(s, head, first, scratch);
        const float keep_scale =
            call_.dropout.active() ? static_cast<float>(call_.dropout.keep_scale()) : 1.0F;
        write(rows_.dk, sequence, sequence.k_base, kv_head, 0, sequence.keys, call_.head_dim, call_.scale,
              scratch.dk.data());
        write(rows_.dv, sequence, sequence.k_base, kv_head, 0, sequence.keys, call_.v_head_dim, keep_scale,
              scratch.dv.data());
    }

    static std::int64_t columns_of(const Sequence& sequence, std::int64_t block) {
        return std::min(key_block, up16(sequence.keys) - block);
    }

    void pack(const Sequence& sequence, std::int64_t kv_head, std::int64_t block,
              Scratch<Compute>& scratch) const {
        const std::int64_t n = std::min(key_block, sequence.keys - block),
                           padded = columns_of(sequence, block);
        const Source<Storage> k{call_.k_row<const Storage>(sequence, kv_head, block), call_.k.row};
        const Source<Storage> v{call_.v_row<const Storage>(sequence, kv_head, block), call_.v.row};
        right_of_transposed(k, n, call_.head_dim, padded,
                            scratch.k_transposed.data() + block * even(call_.head_dim));
        right_of_transposed(v, n, call_.v_head_dim, padded,
                            scratch.v_transposed.data() + block * even(call_.v_head_dim));
        right(k, n, call_.head_dim, padded, scratch.k_right.data() + block * call_.head_dim);
    }

    void run_queries(std::int64_t s, std::int64_t head, std::int64_t first, Scratch<Compute>& scratch) {
        const Sequence& sequence = call_.sequences[s];
        const std::int64_t rows = std::min(tile_rows, sequence.queries - first);
        const Visible seen = call_.visible(sequence, first, first + rows - 1);
        load_queries(sequence, head, first, rows, scratch);
        bool any = false;
        for_each_tile(seen.begin, seen.end, key_block, [&](const Tile& tile) {
            run_tile(s, head, first, rows, tile, any, scratch);
            any = true;
        });
        if (!any) std::fill_n(scratch.dq.data(), rows * call_.head_dim, 0.0F);
        write(rows_.dq, sequence, sequence.q_base, head, first, rows, call_.head_dim, call_.scale,
              scratch.dq.data());
    }

    const Storage* row_of(const Rows& rows, const Sequence& sequence, std::int64_t head,
                          std::int64_t row) const {
        return Call::at(static_cast<const Storage*>(rows.data), rows, sequence.index, sequence.q_base, head,
                        row);
    }

    void load_queries(const Sequence& sequence, std::int64_t head, std::int64_t first, std::int64_t rows,
                      Scratch<Compute>& scratch) const {
        const Source<Storage> q{call_.q_row<const Storage>(sequence, head, first), call_.q.row};
        const Source<Storage> grad{row_of(rows_.grad_out, sequence, head, first), rows_.grad_out.row};
        left(q, rows, call_.head_dim, up16(rows), scratch.q.data());
        right(q, rows, call_.head_dim, up16(rows), scratch.q_right.data());
        left(grad, rows, call_.v_head_dim, up16(rows), scratch.grad.data());
        right(grad, rows, call_.v_head_dim, up16(rows), scratch.grad_right.data());
        for (std::int64_t r = 0; r < rows; ++r) {
            const Storage* const out = row_of(rows_.out, sequence, head, first + r);
            float delta = 0.0F;
            for (std::int64_t e = 0; e < call_.v_head_dim; ++e)
                delta += static_cast<float>(out[e]) * static_cast<float>(grad.row(r)[e]);
            scratch.delta[r] = delta;
            scratch.lse[r] = log2_e * *Call::at(static_cast<const float*>(rows_.lse.data), rows_.lse,
                                                sequence.index, sequence.q_base, head, first + r);
        }
    }

    void run_tile(std::int64_t s, std::int64_t head, std::int64_t first, std::int64_t rows, const Tile& tile,
                  bool add, Scratch<Compute>& scratch) {
        const Sequence& sequence = call_.sequences[s];
        const std::int64_t m = up16(rows), n = up16(tile.end - tile.begin), skipped = tile.begin - tile.block;
        const std::int64_t columns = columns_of(sequence, tile.block);
        const std::int64_t d = call_.head_dim, e = call_.v_head_dim;
        const auto at = [&](const Buffer<Compute>& panel, std::int64_t width) {
            return panel.data() + tile.block * width + skipped * column_step<Compute>;
        };
        product(m, n, even(d), scratch.q.data(), even(d), at(scratch.k_transposed, even(d)), columns,
                scratch.p.data(), key_block, false);
        product(m, n, even(e), scratch.grad.data(), even(e), at(scratch.v_transposed, even(e)), columns,
                scratch.ds.data(), key_block, false);
        for (std::int64_t r = 0; r < m; ++r) {
            if (r < rows) {
                run_row(ScoreRow(call_, sequence, head, first + r), tile, n, r, scratch,
                        distances_of(s, head, first + r, tile));
            } else {
                clear_row(r, n, scratch);
            }
        }
        const Compute* const kept =
            as_operand(call_.dropout.active() ? scratch.dropped : scratch.p, scratch, m, n);
        transpose(kept, m, n, scratch.p_transposed.data());
        product(n, e, m, scratch.p_transposed.data(), m, scratch.grad_right.data(), e,
                scratch.dv.data() + tile.begin * e, e, true);
        const Compute* const ds = as_operand(scratch.ds, scratch, m, n);
        transpose(ds, m, n, scratch.ds_transposed.data());
        product(n, d, m, scratch.ds_transposed.data(), m, scratch.q_right.data(), d,
                scratch.dk.data() + tile.begin * d, d, true);
        product(m, d, n, ds, key_block, scratch.k_right.data() + tile.begin * d, d, scratch.dq.data(), d,
                add);
    }

    // [m, n] of a tile, rounded to Compute: in scratch.rounded, or for float where it is.
    const Compute* as_operand(const Buffer<float>& x, Scratch<Compute>& scratch, std::int64_t m,
                              std::int64_t n) const {
        if constexpr (in_pairs<Compute>) {
            for (std::int64_t r = 0; r < m; ++r)
                kernels_.to_bfloat16(x.data() + r * key_block, n, scratch.rounded.data() + r * key_block);
            return scratch.rounded.data();
        } else {
            return x.data();
        }
    }

    void transpose(const Compute* x, std::int64_t m, std::int64_t n, Compute* out) const {
        if constexpr (in_pairs<Compute>) {
            kernels_.transpose16(reinterpret_cast<const std::uint16_t*>(x), m, n, key_block,
                                 reinterpret_cast<std::uint16_t*>(out), m);
        } else {
            kernels_.transpose32(reinterpret_cast<const std::uint32_t*>(x), m, n, key_block,
                                 reinterpret_cast<std::uint32_t*>(out), m);
        }
    }

    void clear_row(std::int64_t r, std::int64_t n, Scratch<Compute>& scratch) const {
        std::fill_n(scratch.p.data() + r * key_block, n, 0.0F);
        std::fill_n(scratch.ds.data() + r * key_block, n, 0.0F);
        if (call_.dropout.active()) std::fill_n(scratch.dropped.data() + r * key_block, n, 0.0F);
    }

    // Where the gradients of this row's distances go, from the tile's first column on; nullptr: nowhere.
    float* distances_of(std::int64_t s, std::int64_t head, std::int64_t query, const Tile& tile) {
        if (!want_distance_) return nullptr;
        return distance_.data() + (s * call_.heads + head) * call_.distance_span +
               (tile.begin - query - call_.sequences[s].offset - call_.first_distance);
    }

    // Scores to probabilities, and gradients of probabilities to those of scores.
    void run_row(const ScoreRow& row, const Tile& tile, std::int64_t n, std::int64_t r,
                 Scratch<Compute>& scratch, float* distances) const {
        float* const p = scratch.p.data() + r * key_block;
        float* const ds = scratch.ds.data() + r * key_block;
        float* const slope = call_.soft_cap > 0.0F ? scratch.slope.data() + r * key_block : nullptr;
        const float base = scratch.lse[r] == -infinity ? 0.0F : scratch.lse[r];
        std::int64_t done = 0;
        for_each_visible(row.seen(), tile.begin, tile.end, [&](std::int64_t key, std::int64_t count) {
            const std::int64_t at = key - tile.begin;
            std::fill(p + done, p + at, 0.0F);
            std::fill(ds + done, ds + at, 0.0F);
            kernels_.finish_scores(p + at, count, row.terms(key, slope == nullptr ? nullptr : slope + at));
            kernels_.exponentials(p + at, count, base, p + at);
            done = at + count;
        });
        std::fill(p + done, p + n, 0.0F);
        std::fill(ds + done, ds + n, 0.0F);
        const float* kept = nullptr;
        float keep_scale = 1.0F;
        if (call_.dropout.active()) {
            float* const dropped = scratch.dropped.data() + r * key_block;
            kernels_.drop(p, n, tile.begin, row.dropout(), dropped);
            kept = dropped;
            keep_scale = static_cast<float>(call_.dropout.keep_scale());
        }
        for_each_visible(row.seen(), tile.begin, tile.end, [&](std::int64_t key, std::int64_t count) {
            const std::int64_t at = key - tile.begin;
            kernels_.score_gradients(ds + at, p + at, kept == nullptr ? nullptr : kept + at, count,
                                     keep_scale, scratch.delta[r]);
            if (distances != nullptr) kernels_.add(distances + at, ds + at, count);
            if (slope != nullptr) kernels_.multiply(ds + at, slope + at, count);
        });
    }

    void write(const Rows& rows, const Sequence& sequence, std::int64_t base, std::int64_t head,
               std::int64_t first, std::int64_t count, std::int64_t width, float factor,
               const float* from) const {
        if (rows.data == nullptr) return;
        for (std::int64_t i = 0; i < count; ++i, from += width) {
            auto* const to =
                Call::at(static_cast<Storage*>(rows.data), rows, sequence.index, base, head, first + i);
            for (std::int64_t c = 0; c < width; ++c) to[c] = static_cast<Storage>(from[c] * factor);
        }
    }

    const Call& call_;
    const BackwardRows& rows_;
    bool want_distance_;
    const RowKernels& kernels_;
    std::vector<float> distance_;  // [sequences, heads, span]
};

}  // namespace

std::vector<double> backward(const Call& call, const BackwardRows& rows, bool want_distance) {
    if (call.dtype == at::kFloat) return Backward<float, float>(call, rows, want_distance).run();
    if (call.dtype == at::kHalf) return Backward<c10::Half, float>(call, rows, want_distance).run();
    if (multiplies_bfloat16()) return Backward<c10::BFloat16, c10::BFloat16>(call, rows, want_distance).run();
    return Backward<c10::BFloat16, float>(call, rows, want_distance).run();
}

}  // namespace switchyard::flash
