#include <cmath>
#include <type_traits>

#include "panels.h"
#include "passes.h"
#include "tile.h"

namespace switchyard::flash {
namespace {

constexpr std::int64_t key_block = 512;

// Keys and values of all sequences, packed once for all queries and all heads that share them.
template <class Storage, class Compute>
class Packed {
public:
    explicit Packed(const Call& call) : call_(call), width_(even(call.head_dim)) {
        for (const auto& sequence : call.sequences) {
            starts_.push_back(keys_);
            keys_ += up16(sequence.keys);
        }
        k_.fit(keys_ * call.kv_heads * width_);
        v_.fit(keys_ * call.kv_heads * call.v_head_dim);
        for (std::size_t s = 0; s < call.sequences.size(); ++s)
            for (std::int64_t head = 0; head < call.kv_heads; ++head)
                for (std::int64_t block = 0; block < call.sequences[s].keys; block += key_block)
                    blocks_.push_back({s, head, block});
        struct None {};
        run_tasks<None>(static_cast<std::int64_t>(blocks_.size()),
                        [this](std::int64_t i, None&) { pack(blocks_[i]); });
    }

    // The block's first element; it has `columns` columns.
    const Compute* k(std::size_t sequence, std::int64_t head, std::int64_t block) const {
        return k_.data() + (first(sequence, head) + block) * width_;
    }
    const Compute* v(std::size_t sequence, std::int64_t head, std::int64_t block) const {
        return v_.data() + (first(sequence, head) + block) * call_.v_head_dim;
    }
    std::int64_t columns(std::size_t sequence, std::int64_t block) const {
        return std::min(key_block, up16(call_.sequences[sequence].keys) - block);
    }

private:
    struct Block {
        std::size_t sequence;
        std::int64_t head, first;
    };

    std::int64_t first(std::size_t sequence, std::int64_t head) const {
        return starts_[sequence] * call_.kv_heads + head * up16(call_.sequences[sequence].keys);
    }
    void pack(const Block& block) {
        const auto& sequence = call_.sequences[block.sequence];
        const std::int64_t n = std::min(key_block, sequence.keys - block.first);
        const std::int64_t padded = columns(block.sequence, block.first);
        const Source<Storage> k{call_.k_row<const Storage>(sequence, block.head, block.first), call_.k.row};
        const Source<Storage> v{call_.v_row<const Storage>(sequence, block.head, block.first), call_.v.row};
        right_of_transposed(k, n, call_.head_dim, padded,
                            const_cast<Compute*>(this->k(block.sequence, block.head, block.first)));
        right(v, n, call_.v_head_dim, padded,
              const_cast<Compute*>(this->v(block.sequence, block.head, block.first)));
    }

    const Call& call_;
    std::int64_t width_;
    std::vector<std::int64_t> starts_;
    std::int64_t keys_ = 0;
    Buffer<Compute> k_, v_;
    std::vector<Block> blocks_;
};

template <class Storage, class Compute>
class Forward {
public:
    Forward(const Call& call, const Rows& out, const Rows& softmax)
        : call_(call), out_(out), softmax_(softmax), packed_(call), kernels_(row_kernels()) {}

    void run() const {
        struct Task {
            std::size_t sequence;
            std::int64_t head, first;
        };
        std::vector<Task> tasks;
        for (std::size_t s = 0; s < call_.sequences.size(); ++s)
            for (std::int64_t head = 0; head < call_.heads; ++head)
                for (std::int64_t first = 0; first < call_.sequences[s].queries; first += tile_rows)
                    tasks.push_back({s, head, first});
        run_tasks<Scratch>(static_cast<std::int64_t>(tasks.size()), [&](std::int64_t i, Scratch& scratch) {
            scratch.fit(call_);
            attend(tasks[i].sequence, tasks[i].head, tasks[i].first, scratch);
        });
    }

private:
    struct Scratch {
        Buffer<float> scores, sums;
        Buffer<Compute> q, p;
        float top[tile_rows], total[tile_rows];

        void fit(const Call& call) {
            scores.fit(tile_rows * key_block);
            sums.fit(tile_rows * call.v_head_dim);
            q.fit(tile_rows * even(call.head_dim));
            if constexpr (in_pairs<Compute>) p.fit(tile_rows * key_block);
        }
        // Probabilities as the product reads them; float's are where the scores were.
        Compute* probabilities() {
            if constexpr (in_pairs<Compute>)
                return p.data();
            else
                return scores.data();
        }
    };

    void attend(std::size_t s, std::int64_t head, std::int64_t first, Scratch& scratch) const {
        const Sequence& sequence = call_.sequences[s];
        const std::int64_t rows = std::min(tile_rows, sequence.queries - first);
        left(Source<Storage>{call_.q_row<const Storage>(sequence, head, first), call_.q.row}, rows,
             call_.head_dim, up16(rows), scratch.q.data());
        std::fill_n(scratch.top, tile_rows, -infinity);
        std::fill_n(scratch.total, tile_rows, 0.0F);
        bool any = false;
        call_.for_each_tile(sequence, first, rows, {0, sequence.keys}, key_block, [&](const Tile& tile) {
            take_in(s, head, first, rows, tile, any, scratch);
            any = true;
        });
        write(sequence, head, first, rows, scratch);
    }

    void take_in(std::size_t s, std::int64_t head, std::int64_t first, std::int64_t rows, const Tile& tile,
                 bool add, Scratch& scratch) const {
        const Sequence& sequence = call_.sequences[s];
        const std::int64_t kv_head = head / (call_.heads / call_.kv_heads);
        const std::int64_t columns = packed_.columns(s, tile.block), width = even(call_.head_dim);
        const std::int64_t n = up16(tile.end - tile.begin), skipped = tile.begin - tile.block;
        product(up16(rows), n, width, scratch.q.data(), width,
                packed_.k(s, kv_head, tile.block) + skipped * column_step<Compute>, columns,
                scratch.scores.data(), key_block, false);
        for (std::int64_t r = 0; r < up16(rows); ++r) {
            float* const row = scratch.scores.data() + r * key_block;
            if (r < rows) {
                softmax_row(ScoreRow(call_, sequence, head, first + r), tile, n, row, r, add, scratch);
            } else {
                std::fill_n(row, n, 0.0F);
            }
            if constexpr (in_pairs<Compute>) kernels_.to_bfloat16(row, n, scratch.p.data() + r * key_block);
        }
        product(up16(rows), call_.v_head_dim, n, scratch.probabilities(), key_block,
                packed_.v(s, kv_head, tile.block) + skipped * call_.v_head_dim, call_.v_head_dim,
                scratch.sums.data(), call_.v_head_dim, add);
    }

    // Scores to exp(score - largest so far) in place, zeros where nothing is seen; what was summed up before
    // shrinks as the largest grows.
    void softmax_row(const ScoreRow& row, const Tile& tile, std::int64_t n, float* s, std::int64_t r,
                     bool add, Scratch& scratch) const {
        float top = scratch.top[r];
        for_each_visible(row.seen(), tile.begin, tile.end, [&](std::int64_t key, std::int64_t count) {
            top =
                std::max(top, kernels_.finish_scores(s + (key - tile.begin), count, row.terms(key, nullptr)));
        });
        const Exponential exponential{row.factor(), top == -infinity ? 0.0F : top};
        const float shrink = scratch.top[r] == -infinity
                                 ? 0.0F
                                 : std::exp2((scratch.top[r] - exponential.top) * exponential.factor);
        const DropoutRow dropout = row.dropout();
        float total = scratch.total[r] * shrink;
        std::int64_t done = 0;
        for_each_visible(row.seen(), tile.begin, tile.end, [&](std::int64_t key, std::int64_t count) {
            const std::int64_t at = key - tile.begin;
            std::fill(s + done, s + at, 0.0F);
            total += kernels_.exponentials(s + at, count, exponential, key,
                                           call_.dropout.active() ? &dropout : nullptr);
            done = at + count;
        });
        std::fill(s + done, s + n, 0.0F);
        if (add && shrink != 1.0F)
            kernels_.scale(scratch.sums.data() + r * call_.v_head_dim, call_.v_head_dim, shrink);
        scratch.top[r] = top;
        scratch.total[r] = total;
    }

    void write(const Sequence& sequence, std::int64_t head, std::int64_t first, std::int64_t rows,
               const Scratch& scratch) const {
        const float keep_scale =
            call_.dropout.active() ? static_cast<float>(call_.dropout.keep_scale()) : 1.0F;
        for (std::int64_t r = 0; r < rows; ++r) {
            const float total = scratch.total[r];
            auto* const out = Call::at(static_cast<Storage*>(out_.data), out_, sequence.index,
                                       sequence.q_base, head, first + r);
            const float* const sums = scratch.sums.data() + r * call_.v_head_dim;
            const bool sees_none = total == 0.0F;  // NaN is something
            const float factor = sees_none ? 0.0F : keep_scale / total;
            for (std::int64_t e = 0; e < call_.v_head_dim; ++e)
                out[e] = sees_none ? Storage(0) : static_cast<Storage>(sums[e] * factor);
            keep_softmax(Call::at(static_cast<float*>(softmax_.data), softmax_, sequence.index,
                                  sequence.q_base, head, first + r),
                         scratch.top[r], total);
        }
    }

    const Call& call_;
    Rows out_, softmax_;
    Packed<Storage, Compute> packed_;
    const RowKernels& kernels_;
};

}  // namespace

void forward(const Call& call, const Rows& out, const Rows& softmax) {
    if (call.dtype == at::kFloat) return Forward<float, float>(call, out, softmax).run();
    if (call.dtype == at::kHalf) return Forward<c10::Half, float>(call, out, softmax).run();
    if (multiplies_bfloat16()) return Forward<c10::BFloat16, c10::BFloat16>(call, out, softmax).run();
    Forward<c10::BFloat16, float>(call, out, softmax).run();
}

}  // namespace switchyard::flash
