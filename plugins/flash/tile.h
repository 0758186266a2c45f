// What forward, backward and decoding do alike: the rows of one tile of scores.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "call.h"
#include "row_kernels.h"

namespace switchyard::flash {

constexpr float infinity = std::numeric_limits<float>::infinity();

class ScoreRow {
public:
    ScoreRow(const Call& call, const Sequence& sequence, std::int64_t head, std::int64_t query)
        : call_(call),
          sequence_(sequence),
          head_(head),
          query_(query),
          seen_(visible(call.mask, sequence, query)) {}

    const Visible& seen() const { return seen_; }
    // Of columns that start at key `first`.
    ScoreTerms terms(std::int64_t first, float* slope) const {
        ScoreTerms terms;
        terms.scale = call_.scale;
        terms.soft_cap = call_.soft_cap;
        terms.slope = call_.soft_cap > 0.0F ? slope : nullptr;
        if (const float* const distances = call_.distances(head_))
            terms.distance = distances + (first - query_ - sequence_.offset - call_.first_distance);
        if (call_.dense != nullptr) {
            const auto& stride = call_.dense_stride;
            terms.dense = call_.dense + sequence_.index * stride[0] + head_ * stride[1] + query_ * stride[2] +
                          first * stride[3];
            terms.dense_stride = stride[3];
        }
        return terms;
    }
    // What the exponentials multiply differences of scores by, after finish_scores.
    float factor() const { return call_.score_unit() * log2_e; }
    DropoutRow dropout() const {
        return {call_.dropout.seed,
                sequence_.document,
                static_cast<std::uint32_t>(call_.first_head + head_),
                static_cast<std::uint32_t>(query_),
                call_.dropout.threshold(),
                static_cast<float>(call_.dropout.keep_scale())};
    }

private:
    const Call& call_;
    const Sequence& sequence_;
    std::int64_t head_, query_;
    Visible seen_;
};

// What is kept of a row's softmax: its largest score and the sum of exponentials relative to it; of a row
// that saw nothing zeros, and of one that is not a number, that.
inline void keep_softmax(float* kept, float top, float total) {
    kept[0] = std::isnan(total) ? total : total == 0.0F ? 0.0F : top;
    kept[1] = total;
}

}  // namespace switchyard::flash
