#include "core/workbench/score/chrf.h"

#include <stdexcept>

#include "core/workbench/score/characters.h"
#include "core/workbench/score/ngrams.h"

namespace switchyard::score {
namespace {

constexpr double recall_weight = 4.0;  // beta 2, squared

using Units = std::vector<std::string_view>;

Units visible_characters(std::string_view text) {
    Units units;
    for (const auto word : words(text)) {
        const auto of_word = characters(word);
        units.insert(units.end(), of_word.begin(), of_word.end());
    }
    return units;
}

bool is_punctuation(char c) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

// One mark of ASCII is taken off each word: the last character, or else the first.
Units words_and_marks(std::string_view text) {
    Units units;
    for (const auto word : words(text)) {
        const bool single = characters(word).size() == 1;
        const auto rest = word.size() - 1;
        if (!single && is_punctuation(word.back()))
            units.insert(units.end(), {word.substr(0, rest), word.substr(rest)});
        else if (!single && is_punctuation(word.front()))
            units.insert(units.end(), {word.substr(0, 1), word.substr(1)});
        else
            units.push_back(word);
    }
    return units;
}

std::vector<Ngrams> all_ngrams(std::string_view text, std::size_t orders) {
    std::vector<Ngrams> all;
    const auto units = visible_characters(text);
    for (std::size_t n = 1; n <= Chrf::character_order; ++n) all.push_back(ngrams_of(units, n, ""));
    if (orders == Chrf::character_order) return all;
    const auto single_words = words_and_marks(text);
    for (std::size_t n = 1; n <= orders - Chrf::character_order; ++n)
        all.push_back(ngrams_of(single_words, n, " "));
    return all;
}

std::vector<Counts> counts_of(const std::vector<Ngrams>& hypothesis, const std::vector<Ngrams>& reference) {
    std::vector<Counts> counts;
    for (std::size_t i = 0; i < hypothesis.size(); ++i) {
        // An order that the reference is too short for is no mistake of the hypothesis.
        counts.push_back({shared_by(hypothesis[i], reference[i]),
                          reference[i].empty() ? 0 : size_of(hypothesis[i]), size_of(reference[i])});
    }
    return counts;
}

double score_of(const std::vector<Counts>& orders) {
    double precision = 0.0, recall = 0.0;
    int taken = 0;
    for (const auto& order : orders) {
        if (order.told == 0 || order.right == 0) continue;
        precision += order.precision();
        recall += order.recall();
        ++taken;
    }
    if (precision + recall == 0.0) return 0.0;
    precision /= taken;
    recall /= taken;
    return 100.0 * (1.0 + recall_weight) * precision * recall / (recall_weight * precision + recall);
}

}  // namespace

void Chrf::add(std::string_view hypothesis, std::span<const std::string> references) {
    if (references.empty()) throw std::invalid_argument("chrF needs a reference for each text; got none");
    const auto ngrams = all_ngrams(hypothesis, orders_.size());
    std::vector<Counts> best;
    double best_score = -1.0;
    for (const auto& reference : references) {
        auto counts = counts_of(ngrams, all_ngrams(reference, orders_.size()));
        const double score = score_of(counts);
        if (score <= best_score) continue;
        best_score = score;
        best = std::move(counts);
    }
    for (std::size_t i = 0; i < orders_.size(); ++i) orders_[i] += best[i];
}

double Chrf::score() const { return score_of(orders_); }

}  // namespace switchyard::score
