// Rows of logits: their log-sum-exp, and the gradient of cross-entropy. Rows are dense. `Storage` is float,
// c10::BFloat16 or c10::Half.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

namespace switchyard::fused {

// What is known of a row after some of its classes.
struct RowSummary {
    double top = -std::numeric_limits<double>::infinity();
    double total = 0.0;   // of e^(logit - top)
    double sum = 0.0;     // of the logits
    double chosen = 0.0;  // the target's logit

    double log_sum_exp() const { return top + std::log(total); }
};

constexpr std::int64_t piece_classes = 2048;  // fit the first cache

template <class Storage>
struct LossKernels {
    // Takes in `n` more classes.
    void (*summarize)(const Storage* logits, std::int64_t n, RowSummary& row);
    // Likewise, of a row's first class on; keeps e^(logit - largest of its piece), and the largest of each
    // piece.
    void (*exponentials)(const Storage* logits, std::int64_t n, RowSummary& row, float* exponentials,
                         float* tops);
    // out = factors * exponentials - constant, a factor for each piece. `streams`: written around the caches.
    void (*scaled)(const float* exponentials, std::int64_t n, const float* factors, float constant,
                   Storage* out, bool streams);
    // out = factor * e^(logits - log_sum_exp) - constant; out may be logits. `streams`: written around the
    // caches.
    void (*gradient)(const Storage* logits, std::int64_t n, float log_sum_exp, float factor, float constant,
                     Storage* out, bool streams);
};

template <class Storage>
const LossKernels<Storage>& loss_kernels();

}  // namespace switchyard::fused
