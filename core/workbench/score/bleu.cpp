#include "core/workbench/score/bleu.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/workbench/score/ngrams.h"
#include "core/workbench/score/tokenize_13a.h"

namespace switchyard::score {
namespace {

using Words = std::vector<std::string>;

Ngrams ngrams_of_words(const Words& words, std::size_t order) {
    const std::vector<std::string_view> views(words.begin(), words.end());
    return ngrams_of(views, order, " ");
}

std::int64_t nearest_length(std::size_t length, const std::vector<Words>& references) {
    const auto distance = [&](const Words& words) {
        const auto size = words.size();
        return std::pair(size > length ? size - length : length - size, size);
    };
    const auto nearest = std::ranges::min_element(references, {}, distance);
    return static_cast<std::int64_t>(nearest->size());
}

}  // namespace

void Bleu::add(std::string_view hypothesis, std::span<const std::string> references) {
    if (references.empty()) throw std::invalid_argument("BLEU needs a reference for each text; got none");
    const auto words = tokenize_13a(hypothesis);
    std::vector<Words> others;
    for (const auto& reference : references) others.push_back(tokenize_13a(reference));
    hypothesis_words_ += static_cast<std::int64_t>(words.size());
    reference_words_ += nearest_length(words.size(), others);
    for (std::size_t i = 0; i < orders_.size(); ++i) {
        Ngrams most;
        for (const auto& other : others) {
            for (auto& [ngram, count] : ngrams_of_words(other, i + 1)) {
                auto& found = most[ngram];
                found = std::max(found, count);
            }
        }
        const auto ngrams = ngrams_of_words(words, i + 1);
        orders_[i].told += size_of(ngrams);
        orders_[i].both += shared_by(ngrams, most);
    }
}

double Bleu::score() const {
    // Without any match nothing is smoothed, and without a text of four words the mean has an order of 0.
    if (std::ranges::none_of(orders_, [](const Counts& order) { return order.both > 0; })) return 0.0;
    double logarithms = 0.0, smoothing = 1.0;
    for (const auto& order : orders_) {
        if (order.told == 0) return 0.0;
        if (order.both == 0) smoothing *= 2.0;
        const double precision = order.both == 0 ? share(1, order.told) / smoothing : order.precision();
        logarithms += std::log(100.0 * precision);
    }
    const double mean = std::exp(logarithms / static_cast<double>(orders_.size()));
    if (hypothesis_words_ >= reference_words_) return mean;
    return mean *
           std::exp(1.0 - static_cast<double>(reference_words_) / static_cast<double>(hypothesis_words_));
}

}  // namespace switchyard::score
