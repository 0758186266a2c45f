// Few queries against many keys: nothing is packed, every key and value is read once for all rows of its kv
// head, and the work is split over keys as well (flash-decoding: Dao, Haziza, Massa, Sizov 2023,
// "Flash-Decoding for long-context inference").
#include <atomic>
#include <cmath>

#include "passes.h"
#include "stream_kernels.h"
#include "tile.h"

namespace switchyard::flash {
namespace {

constexpr std::int64_t decode_block = 512;
// Each thread reads long stretches of memory, but not all of its share at once: one that was interrupted
// leaves the rest to the others.
constexpr std::int64_t runs_per_thread = 16;

template <class Storage>
class Decode {
public:
    Decode(const Call& call, const Rows& out, const Rows& softmax)
        : call_(call),
          out_(out),
          softmax_(softmax),
          rows_(row_kernels()),
          stream_(stream_kernels<Storage>()) {}

    void run() {
        for (std::size_t s = 0; s < call_.sequences.size(); ++s) {
            for (std::int64_t head = 0; head < call_.kv_heads; ++head) add_parts(s, head);
        }
        sums_.fit(partial_rows_ * call_.v_head_dim);
        tops_.fit(partial_rows_);
        totals_.fit(partial_rows_);
        // Whoever ends the last part of a group joins its parts: a second meeting of the threads costs as
        // much as a short cache's attention.
        std::vector<std::atomic<std::int64_t>> left(groups_.size());
        for (std::size_t group = 0; group < groups_.size(); ++group) {
            left[group] = groups_[group].parts;
            if (groups_[group].parts == 0) join(groups_[group]);
        }
        run_tasks<Scratch>(
            static_cast<std::int64_t>(parts_.size()),
            [&](std::int64_t i, Scratch& scratch) {
                const Part& part = parts_[i];
                attend(part, scratch);
                if (left[part.group].fetch_sub(1) == 1) join(groups_[part.group]);
            },
            static_cast<std::int64_t>(parts_.size()) / (runs_per_thread * at::get_num_threads()));
    }

private:
    // The rows of a kv head: its query heads, each with all queries. Their partial results stand one part
    // after the other.
    struct Group {
        std::size_t sequence;
        std::int64_t kv_head, first_row, parts;
    };
    struct Part {
        std::size_t group;
        std::int64_t first_row;
        Tile tile;
    };
    struct Scratch {
        Buffer<float> query, scores, sums;  // sums: of one page
    };

    std::int64_t heads_of_group() const { return call_.heads / call_.kv_heads; }
    std::int64_t rows_of_group(const Sequence& sequence) const { return heads_of_group() * sequence.queries; }

    void add_parts(std::size_t s, std::int64_t kv_head) {
        const Sequence& sequence = call_.sequences[s];
        if (sequence.queries == 0) return;
        Group group{s, kv_head, partial_rows_, 0};
        const KeyRange all{0, sequence.keys};
        call_.for_each_tile(sequence, 0, sequence.queries, all, decode_block, [&](const Tile& tile) {
            parts_.push_back({groups_.size(), partial_rows_, tile});
            partial_rows_ += rows_of_group(sequence);
            ++group.parts;
        });
        groups_.push_back(group);
    }

    void attend(const Part& part, Scratch& scratch) {
        const Group& group = groups_[part.group];
        const Sequence& sequence = call_.sequences[group.sequence];
        scratch.query.fit(call_.head_dim);
        scratch.scores.fit(decode_block);
        scratch.sums.fit(call_.v_head_dim);
        std::int64_t row = part.first_row;
        for (std::int64_t h = 0; h < heads_of_group(); ++h) {
            const std::int64_t head = group.kv_head * heads_of_group() + h;
            for (std::int64_t query = 0; query < sequence.queries; ++query, ++row) {
                const auto* const q = call_.q_row<const Storage>(sequence, head, query);
                for (std::int64_t i = 0; i < call_.head_dim; ++i)
                    scratch.query.data()[i] = static_cast<float>(q[i]);
                score(sequence, group.kv_head, part.tile, scratch);
                softmax(ScoreRow(call_, sequence, head, query), part.tile, scratch.scores.data(), row);
                sum(sequence, group.kv_head, part.tile, scratch, sums_.data() + row * call_.v_head_dim);
            }
        }
    }

    void score(const Sequence& sequence, std::int64_t kv_head, const Tile& tile, Scratch& scratch) const {
        call_.for_each_run(tile.begin, tile.end, [&](std::int64_t key, std::int64_t count) {
            stream_.dots(scratch.query.data(), call_.k_row<const Storage>(sequence, kv_head, key),
                         call_.k.row, count, call_.head_dim, scratch.scores.data() + (key - tile.begin));
        });
        stream_.expect(call_.v_row<const Storage>(sequence, kv_head, tile.begin), call_.v.row,
                       call_.v_head_dim);
    }

    void sum(const Sequence& sequence, std::int64_t kv_head, const Tile& tile, Scratch& scratch,
             float* sums) const {
        call_.for_each_run(tile.begin, tile.end, [&](std::int64_t key, std::int64_t count) {
            float* const to = key == tile.begin ? sums : scratch.sums.data();
            stream_.weighted_sum(scratch.scores.data() + (key - tile.begin),
                                 call_.v_row<const Storage>(sequence, kv_head, key), call_.v.row, count,
                                 call_.v_head_dim, to);
            if (to != sums) rows_.add(sums, to, call_.v_head_dim);
        });
    }

    void softmax(const ScoreRow& row, const Tile& tile, float* s, std::int64_t partial) {
        float top = -infinity;
        for_each_visible(row.seen(), tile.begin, tile.end, [&](std::int64_t key, std::int64_t count) {
            top = std::max(top, rows_.finish_scores(s + (key - tile.begin), count, row.terms(key, nullptr)));
        });
        const Exponential exponential{row.factor(), top == -infinity ? 0.0F : top};
        const DropoutRow dropout = row.dropout();
        float total = 0.0F;
        std::int64_t done = 0;
        for_each_visible(row.seen(), tile.begin, tile.end, [&](std::int64_t key, std::int64_t count) {
            const std::int64_t at = key - tile.begin;
            std::fill(s + done, s + at, 0.0F);
            total += rows_.exponentials(s + at, count, exponential, key,
                                        call_.dropout.active() ? &dropout : nullptr);
            done = at + count;
        });
        std::fill(s + done, s + (tile.end - tile.begin), 0.0F);
        tops_.data()[partial] = top;
        totals_.data()[partial] = total;
    }

    void join(const Group& group) {
        const Sequence& sequence = call_.sequences[group.sequence];
        const std::int64_t rows = rows_of_group(sequence);
        for (std::int64_t r = 0; r < rows; ++r)
            join_row(sequence, group, group.kv_head * heads_of_group() + r / sequence.queries,
                     r % sequence.queries, group.first_row + r, rows);
    }

    // The partial results of a row stand `step` rows apart.
    void join_row(const Sequence& sequence, const Group& group, std::int64_t head, std::int64_t query,
                  std::int64_t first, std::int64_t step) {
        float top = -infinity, total = 0.0F;
        for (std::int64_t part = 0; part < group.parts; ++part)
            top = std::max(top, tops_.data()[first + part * step]);
        auto* const out =
            Call::at(static_cast<Storage*>(out_.data), out_, sequence.index, sequence.q_base, head, query);
        float* const softmax = Call::at(static_cast<float*>(softmax_.data), softmax_, sequence.index,
                                        sequence.q_base, head, query);
        if (top == -infinity) {
            // No key, or not a number.
            for (std::int64_t part = 0; part < group.parts; ++part)
                total += totals_.data()[first + part * step];
            std::fill_n(out, call_.v_head_dim, static_cast<Storage>(total));
            keep_softmax(softmax, top, total);
            return;
        }
        const float factor = ScoreRow(call_, sequence, head, query).factor();
        for (std::int64_t part = 0; part < group.parts; ++part) {
            const std::int64_t row = first + part * step;
            const float shrink = std::exp2((tops_.data()[row] - top) * factor);
            total += totals_.data()[row] * shrink;
            rows_.scale(sums_.data() + row * call_.v_head_dim, call_.v_head_dim, shrink);
            if (part > 0)
                rows_.add(sums_.data() + first * call_.v_head_dim, sums_.data() + row * call_.v_head_dim,
                          call_.v_head_dim);
        }
        const float keep_scale =
            call_.dropout.active() ? static_cast<float>(call_.dropout.keep_scale()) : 1.0F;
        const float* const sums = sums_.data() + first * call_.v_head_dim;
        for (std::int64_t e = 0; e < call_.v_head_dim; ++e)
            out[e] = static_cast<Storage>(sums[e] * (keep_scale / total));
        keep_softmax(softmax, top, total);
    }

    const Call& call_;
    Rows out_, softmax_;
    const RowKernels& rows_;
    const StreamKernels<Storage>& stream_;
    std::vector<Group> groups_;
    std::vector<Part> parts_;
    std::int64_t partial_rows_ = 0;
    Buffer<float> sums_, tops_, totals_;
};

}  // namespace

bool is_decoding(const Call& call) {
    std::int64_t longest = 0;
    for (const auto& sequence : call.sequences) longest = std::max(longest, sequence.queries);
    return longest * (call.heads / call.kv_heads) <= most_decoding_rows;
}

void decode(const Call& call, const Rows& out, const Rows& softmax) {
    if (call.dtype == at::kFloat) return Decode<float>(call, out, softmax).run();
    if (call.dtype == at::kHalf) return Decode<c10::Half>(call, out, softmax).run();
    Decode<c10::BFloat16>(call, out, softmax).run();
}

}  // namespace switchyard::flash
