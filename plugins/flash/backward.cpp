#include <cmath>
#include <iterator>
#include <numeric>
#include <type_traits>

#include "backward_plan.h"
#include "panels.h"
#include "passes.h"
#include "tile.h"

namespace switchyard::flash {
namespace {

// Everything that a thread needs for one item: parts of the keys of one kv head of one sequence.
template <class Compute>
struct Scratch {
    Buffer<Compute> k_transposed, v_transposed, k_right;  // of the item's keys
    Buffer<float> dk, dv;                                 // of the item's keys
    Buffer<float> distances;                              // [parts, span]: sums of one head
    std::int64_t first_key = 0, first_part = 0;
    Buffer<Compute> q, q_right, grad, grad_right;  // of a tile of queries
    Buffer<float> p, ds, slope;
    Buffer<float> dq, dq_sum;  // of a tile of queries: from one part, from all so far
    Buffer<Compute> p_transposed, rounded, ds_transposed;
    float delta[tile_rows], top[tile_rows], weight[tile_rows];

    void fit(const Call& call, std::int64_t keys) {
        const std::int64_t d = even(call.head_dim), e = even(call.v_head_dim),
                           tile = tile_rows * backward_block;
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
        if (call.soft_cap > 0.0F) slope.fit(tile);
        dq.fit(tile_rows * call.head_dim);
        dq_sum.fit(tile_rows * call.head_dim);
        p_transposed.fit(tile);
        if (in_pairs<Compute>) rounded.fit(tile);
        ds_transposed.fit(tile);
    }

    static void zeros(Buffer<float>& buffer, std::int64_t size) {
        buffer.fit(size);
        std::fill_n(buffer.data(), size, 0.0F);
    }
};

// The product of a row's output and its gradient. It is taken from dP, which it nearly equals where one key
// has most of a row, so that what is lost in it shows: its sum is of doubles, in lanes, which the compiler
// makes vectors of.
template <class Storage>
float inner_product(const Storage* a, const Storage* b, std::int64_t n) {
    constexpr std::int64_t lanes = 8;
    double sums[lanes] = {};
    const auto take = [&](std::int64_t lane, std::int64_t i) {
        sums[lane] += static_cast<double>(static_cast<float>(a[i])) * static_cast<float>(b[i]);
    };
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        for (std::int64_t lane = 0; lane < lanes; ++lane) take(lane, i + lane);
    }
    for (; i < n; ++i) take(0, i);
    return static_cast<float>(std::accumulate(std::begin(sums), std::end(sums), 0.0));
}

template <class Storage, class Compute>
class Backward {
public:
    Backward(const Call& call, const BackwardRows& rows, bool want_table)
        : call_(call),
          rows_(rows),
          want_table_(want_table),
          kernels_(row_kernels()),
          plan_(plan_backward(call.sequences, call.kv_heads, at::get_num_threads(), shared_bias(rows))) {}

    std::vector<double> run() {
        for (const auto& sequence : call_.sequences) {
            row_starts_.push_back(query_rows_);
            query_rows_ += sequence.queries * call_.heads;
        }
        if (plan_.split && rows_.dq.data != nullptr)
            dq_parts_.fit(plan_.most_parts * query_rows_ * call_.head_dim);
        if (want_table_)
            table_.resize(call_.sequences.size() *
                          static_cast<std::size_t>(call_.heads * plan_.most_parts * call_.buckets));
        run_tasks<Scratch<Compute>>(static_cast<std::int64_t>(plan_.tasks.size()),
                                    [this](std::int64_t task, Scratch<Compute>& scratch) {
                                        for (const auto& item : plan_.tasks[task]) run_item(item, scratch);
                                    });
        if (plan_.split && rows_.dq.data != nullptr) join_queries();
        return summed_table();
    }

private:
    static SharedBias shared_bias(const BackwardRows& rows) {
        if (rows.dense == nullptr) return {};
        return {rows.dense_stride[0] == 0, rows.dense_stride[1] == 0, rows.dense_stride[3] == 0};
    }

    double* table_of(std::int64_t s, std::int64_t head, std::int64_t part) {
        return table_.data() + ((s * call_.heads + head) * plan_.most_parts + part) * call_.buckets;
    }
    float* dq_part(std::int64_t s, std::int64_t head, std::int64_t first, std::int64_t part) {
        const std::int64_t row = row_starts_[s] + head * call_.sequences[s].queries + first;
        return dq_parts_.data() + (part * query_rows_ + row) * call_.head_dim;
    }

    // [buckets, heads], in the order of sequences and parts.
    std::vector<double> summed_table() {
        if (!want_table_) return {};
        std::vector<double> sums(static_cast<std::size_t>(call_.buckets * call_.heads), 0.0);
        for (std::size_t s = 0; s < call_.sequences.size(); ++s)
            for (std::int64_t head = 0; head < call_.heads; ++head)
                for (std::int64_t part = 0; part < plan_.most_parts; ++part)
                    for (std::int64_t bucket = 0; bucket < call_.buckets; ++bucket)
                        sums[bucket * call_.heads + head] +=
                            table_of(static_cast<std::int64_t>(s), head, part)[bucket];
        return sums;
    }

    // What the parts said of each query.
    void join_queries() {
        struct Tile {
            std::int64_t sequence, head, first;
        };
        std::vector<Tile> tiles;
        for (std::size_t s = 0; s < call_.sequences.size(); ++s)
            for (std::int64_t head = 0; head < call_.heads; ++head)
                for (std::int64_t first = 0; first < call_.sequences[s].queries; first += tile_rows)
                    tiles.push_back({static_cast<std::int64_t>(s), head, first});
        struct None {};
        run_tasks<None>(static_cast<std::int64_t>(tiles.size()), [&](std::int64_t i, None&) {
            join_tile(tiles[i].sequence, tiles[i].head, tiles[i].first);
        });
    }

    void join_tile(std::int64_t s, std::int64_t head, std::int64_t first) {
        const Sequence& sequence = call_.sequences[s];
        const std::int64_t rows = std::min(tile_rows, sequence.queries - first);
        float* sum = nullptr;
        for (std::int64_t part = 0; part < plan_.parts(sequence); ++part) {
            bool seen = false;
            call_.for_each_tile(sequence, first, rows, plan_.part(sequence, part), backward_block,
                                [&](const Tile&) { seen = true; });
            if (!seen) continue;
            float* const from = dq_part(s, head, first, part);
            if (sum == nullptr) {
                sum = from;
            } else {
                kernels_.add(sum, from, rows * call_.head_dim);
            }
        }
        if (sum != nullptr)
            write(rows_.dq, sequence, sequence.q_base, head, first, rows, call_.head_dim, call_.scale, sum);
    }

    void run_item(const BackwardItem& item, Scratch<Compute>& scratch) {
        const Sequence& sequence = call_.sequences[item.sequence];
        const KeyRange keys{plan_.part(sequence, item.first_part).begin,
                            plan_.part(sequence, item.last_part - 1).end};
        scratch.first_key = keys.begin;
        scratch.first_part = item.first_part;
        scratch.fit(call_, up16(keys.end - keys.begin));
        for (std::int64_t block = keys.begin; block < keys.end; block += backward_block)
            pack(sequence, item.kv_head, block, scratch);
        const std::int64_t group = call_.heads / call_.kv_heads;
        for (std::int64_t head = item.kv_head * group; head < (item.kv_head + 1) * group; ++head) {
            if (want_table_)
                scratch.zeros(scratch.distances, (item.last_part - item.first_part) * call_.distance_span);
            for (std::int64_t first = 0; first < sequence.queries; first += tile_rows)
                run_queries(item, head, first, scratch);
            if (want_table_) add_to_table(item, head, scratch);
        }
        const float keep_scale =
            call_.dropout.active() ? static_cast<float>(call_.dropout.keep_scale()) : 1.0F;
        write(rows_.dk, sequence, sequence.k_base, item.kv_head, keys.begin, keys.end - keys.begin,
              call_.head_dim, call_.scale, scratch.dk.data());
        write(rows_.dv, sequence, sequence.k_base, item.kv_head, keys.begin, keys.end - keys.begin,
              call_.v_head_dim, keep_scale, scratch.dv.data());
    }

    void add_to_table(const BackwardItem& item, std::int64_t head, const Scratch<Compute>& scratch) {
        const float* distances = scratch.distances.data();
        for (std::int64_t part = item.first_part; part < item.last_part; ++part) {
            double* const buckets = table_of(item.sequence, head, part);
            for (std::int64_t i = 0; i < call_.distance_span; ++i)
                buckets[call_.bucket_of[i]] += *distances++;
        }
    }

    static std::int64_t columns_of(const Sequence& sequence, std::int64_t block) {
        return std::min(backward_block, up16(sequence.keys) - block);
    }

    void pack(const Sequence& sequence, std::int64_t kv_head, std::int64_t block,
              Scratch<Compute>& scratch) const {
        const std::int64_t n = std::min(backward_block, sequence.keys - block),
                           padded = columns_of(sequence, block);
        const Source<Storage> k{call_.k_row<const Storage>(sequence, kv_head, block), call_.k.row};
        const Source<Storage> v{call_.v_row<const Storage>(sequence, kv_head, block), call_.v.row};
        right_of_transposed(k, n, call_.head_dim, padded,
                            scratch.k_transposed.data() + (block - scratch.first_key) * even(call_.head_dim));
        right_of_transposed(
            v, n, call_.v_head_dim, padded,
            scratch.v_transposed.data() + (block - scratch.first_key) * even(call_.v_head_dim));
        right(k, n, call_.head_dim, padded,
              scratch.k_right.data() + (block - scratch.first_key) * call_.head_dim);
    }

    void run_queries(const BackwardItem& item, std::int64_t head, std::int64_t first,
                     Scratch<Compute>& scratch) {
        const Sequence& sequence = call_.sequences[item.sequence];
        const std::int64_t rows = std::min(tile_rows, sequence.queries - first);
        const std::int64_t numbers = rows * call_.head_dim;
        load_queries(sequence, head, first, rows, scratch);
        bool any = false;
        for (std::int64_t part = item.first_part; part < item.last_part; ++part) {
            bool seen = false;
            call_.for_each_tile(sequence, first, rows, plan_.part(sequence, part), backward_block,
                                [&](const Tile& tile) {
                                    run_tile({item.sequence, head, first, rows, part}, tile, seen, scratch);
                                    seen = true;
                                });
            if (!seen || rows_.dq.data == nullptr) continue;
            if (plan_.split) {
                std::copy_n(scratch.dq.data(), numbers, dq_part(item.sequence, head, first, part));
            } else if (any) {
                kernels_.add(scratch.dq_sum.data(), scratch.dq.data(), numbers);
            } else {
                std::swap(scratch.dq_sum, scratch.dq);
            }
            any = true;
        }
        if (any && !plan_.split)
            write(rows_.dq, sequence, sequence.q_base, head, first, rows, call_.head_dim, call_.scale,
                  scratch.dq_sum.data());
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
            scratch.delta[r] = inner_product(out, grad.row(r), call_.v_head_dim);
            const float* const softmax =
                Call::at(static_cast<const float*>(rows_.softmax.data), rows_.softmax, sequence.index,
                         sequence.q_base, head, first + r);
            scratch.top[r] = softmax[0];
            scratch.weight[r] = softmax[1] == 0.0F ? 0.0F : 1.0F / softmax[1];
        }
    }

    // A tile's queries, and the part of the keys that it lies in.
    struct Queries {
        std::int64_t sequence, head, first, rows, part;
    };

    void run_tile(const Queries& queries, const Tile& tile, bool add, Scratch<Compute>& scratch) {
        const auto [s, head, first, rows, part] = queries;
        const Sequence& sequence = call_.sequences[s];
        const std::int64_t m = up16(rows), n = up16(tile.end - tile.begin), skipped = tile.begin - tile.block;
        const std::int64_t columns = columns_of(sequence, tile.block);
        const std::int64_t d = call_.head_dim, e = call_.v_head_dim;
        const std::int64_t key = tile.begin - scratch.first_key;
        const auto at = [&](const Buffer<Compute>& panel, std::int64_t width) {
            return panel.data() + (tile.block - scratch.first_key) * width + skipped * column_step<Compute>;
        };
        product(m, n, even(d), scratch.q.data(), even(d), at(scratch.k_transposed, even(d)), columns,
                scratch.p.data(), backward_block, false);
        product(m, n, even(e), scratch.grad.data(), even(e), at(scratch.v_transposed, even(e)), columns,
                scratch.ds.data(), backward_block, false);
        for (std::int64_t r = 0; r < m; ++r) {
            if (r < rows) {
                run_row(ScoreRow(call_, sequence, head, first + r), tile, n, r, scratch,
                        biases_of(queries, first + r, tile, scratch));
            } else {
                clear_row(r, n, scratch);
            }
        }
        const Compute* const kept = as_operand(scratch.p, scratch, m, n);
        transpose(kept, m, n, scratch.p_transposed.data());
        product(n, e, m, scratch.p_transposed.data(), m, scratch.grad_right.data(), e,
                scratch.dv.data() + key * e, e, true);
        const Compute* const ds = as_operand(scratch.ds, scratch, m, n);
        transpose(ds, m, n, scratch.ds_transposed.data());
        product(n, d, m, scratch.ds_transposed.data(), m, scratch.q_right.data(), d,
                scratch.dk.data() + key * d, d, true);
        if (rows_.dq.data != nullptr)
            product(m, d, n, ds, backward_block, scratch.k_right.data() + key * d, d, scratch.dq.data(), d,
                    add);
    }

    // [m, n] of a tile, rounded to Compute: in scratch.rounded, or for float where it is.
    const Compute* as_operand(const Buffer<float>& x, Scratch<Compute>& scratch, std::int64_t m,
                              std::int64_t n) const {
        if constexpr (in_pairs<Compute>) {
            for (std::int64_t r = 0; r < m; ++r)
                kernels_.to_bfloat16(x.data() + r * backward_block, n,
                                     scratch.rounded.data() + r * backward_block);
            return scratch.rounded.data();
        } else {
            return x.data();
        }
    }

    void transpose(const Compute* x, std::int64_t m, std::int64_t n, Compute* out) const {
        if constexpr (in_pairs<Compute>) {
            kernels_.panels.transpose16(reinterpret_cast<const std::uint16_t*>(x), m, n, backward_block,
                                        reinterpret_cast<std::uint16_t*>(out), m);
        } else {
            kernels_.panels.transpose32(reinterpret_cast<const std::uint32_t*>(x), m, n, backward_block,
                                        reinterpret_cast<std::uint32_t*>(out), m);
        }
    }

    void clear_row(std::int64_t r, std::int64_t n, Scratch<Compute>& scratch) const {
        std::fill_n(scratch.p.data() + r * backward_block, n, 0.0F);
        std::fill_n(scratch.ds.data() + r * backward_block, n, 0.0F);
    }

    // Where the gradients of a row's biases go, from the tile's first column on; nullptr: nowhere.
    struct BiasRow {
        float *distances = nullptr, *dense = nullptr;
    };

    BiasRow biases_of(const Queries& queries, std::int64_t query, const Tile& tile,
                      Scratch<Compute>& scratch) const {
        BiasRow to;
        const Sequence& sequence = call_.sequences[queries.sequence];
        if (want_table_)
            to.distances = scratch.distances.data() +
                           (queries.part - scratch.first_part) * call_.distance_span +
                           (tile.begin - query - sequence.offset - call_.first_distance);
        if (rows_.dense != nullptr) {
            const auto& stride = rows_.dense_stride;
            to.dense = rows_.dense + sequence.index * stride[0] + queries.head * stride[1] +
                       query * stride[2] + tile.begin * stride[3];
        }
        return to;
    }

    void add_bias_gradients(const BiasRow& to, std::int64_t at, const float* ds, std::int64_t count) const {
        if (to.distances != nullptr) kernels_.add(to.distances + at, ds, count);
        if (to.dense == nullptr) return;
        if (rows_.dense_stride[3] != 0) return kernels_.add(to.dense + at, ds, count);
        for (std::int64_t i = 0; i < count; ++i) *to.dense += ds[i];
    }

    // Scores to probabilities, and gradients of probabilities to those of scores.
    void run_row(const ScoreRow& row, const Tile& tile, std::int64_t n, std::int64_t r,
                 Scratch<Compute>& scratch, const BiasRow& biases) const {
        float* const p = scratch.p.data() + r * backward_block;
        float* const ds = scratch.ds.data() + r * backward_block;
        float* const slope = call_.soft_cap > 0.0F ? scratch.slope.data() + r * backward_block : nullptr;
        const Exponential exponential{row.factor(), scratch.top[r], scratch.weight[r]};
        const DropoutRow dropout = row.dropout();
        std::int64_t done = 0;
        for_each_visible(row.seen(), tile.begin, tile.end, [&](std::int64_t key, std::int64_t count) {
            const std::int64_t at = key - tile.begin;
            std::fill(p + done, p + at, 0.0F);
            std::fill(ds + done, ds + at, 0.0F);
            const ScoreTerms terms = row.terms(key, slope == nullptr ? nullptr : slope + at);
            if (!terms.plain()) kernels_.finish_scores(p + at, count, terms);
            kernels_.exponentials(p + at, count, exponential, key, nullptr);
            kernels_.score_gradients(ds + at, p + at, count, scratch.delta[r], key,
                                     call_.dropout.active() ? &dropout : nullptr);
            add_bias_gradients(biases, at, ds + at, count);
            if (slope != nullptr) kernels_.multiply(ds + at, slope + at, count);
            done = at + count;
        });
        std::fill(p + done, p + n, 0.0F);
        std::fill(ds + done, ds + n, 0.0F);
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
    bool want_table_;
    const RowKernels& kernels_;
    BackwardPlan plan_;
    std::vector<double> table_;  // [sequences, heads, parts, buckets]
    // Split: [parts, rows, head_dim], the rows of all heads of a sequence from its start on.
    Buffer<float> dq_parts_;
    std::vector<std::int64_t> row_starts_;
    std::int64_t query_rows_ = 0;
};

}  // namespace

std::vector<double> backward(const Call& call, const BackwardRows& rows, bool want_table) {
    if (call.dtype == at::kFloat) return Backward<float, float>(call, rows, want_table).run();
    if (call.dtype == at::kHalf) return Backward<c10::Half, float>(call, rows, want_table).run();
    if (multiplies_bfloat16()) return Backward<c10::BFloat16, c10::BFloat16>(call, rows, want_table).run();
    return Backward<c10::BFloat16, float>(call, rows, want_table).run();
}

}  // namespace switchyard::flash
