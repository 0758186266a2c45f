#include "core/kernel/config/suggest.h"

#include <algorithm>
#include <utility>

namespace switchyard::config {
namespace {

constexpr std::size_t longest_word = 64;  // the distance takes time by the square of it

// What others call it, and what it is here.
constexpr std::pair<std::string_view, std::string_view> other_names[] = {{"gpu", "cuda"}};

char folded(char c) {
    if (c == '-') return '_';
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Optimal string alignment distance (Damerau 1964, restricted: no substring is edited twice).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = folded(a[i - 1]) == folded(b[j - 1]);
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
            const bool swapped = i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
                                 folded(a[i - 2]) == folded(b[j - 1]);
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, above);
        std::swap(above, row);
    }
    return above[b.size()];
}

bool is_same(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, folded, folded); }

bool begins_with(std::string_view text, std::string_view prefix) {
    return text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin(),
                                                      [](char a, char b) { return folded(a) == folded(b); });
}

}  // namespace

std::string suggest(std::string_view word, const std::vector<std::string>& candidates) {
    if (word.empty() || word.size() > longest_word) return {};
    for (const auto& [theirs, ours] : other_names)
        if (is_same(word, theirs) && std::ranges::count(candidates, ours) > 0) return std::string(ours);
    const std::size_t allowed = std::clamp<std::size_t>(word.size() / 3, 1, 3);
    std::string best;
    std::size_t best_distance = allowed + 1;
    for (const auto& candidate : candidates) {
        if (candidate.size() > longest_word) continue;
        std::size_t edits = distance(word, candidate);
        if (edits > allowed && word.size() >= 3 && begins_with(candidate, word)) edits = allowed;
        if (edits < best_distance) {
            best_distance = edits;
            best = candidate;
        }
    }
    return best;
}

std::string did_you_mean(const std::string& what) { return what.empty() ? "" : "did you mean " + what + "?"; }

}  // namespace switchyard::config
