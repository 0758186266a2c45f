#include "core/workbench/score/ngrams.h"

#include <algorithm>

namespace switchyard::score {

Ngrams ngrams_of(std::span<const std::string_view> units, std::size_t order, std::string_view separator) {
    Ngrams ngrams;
    for (std::size_t begin = 0; begin + order <= units.size(); ++begin) {
        std::string ngram;
        for (const auto unit : units.subspan(begin, order)) {
            if (!ngram.empty()) ngram += separator;
            ngram += unit;
        }
        ++ngrams[std::move(ngram)];
    }
    return ngrams;
}

std::int64_t size_of(const Ngrams& ngrams) {
    std::int64_t size = 0;
    for (const auto& [ngram, count] : ngrams) size += count;
    return size;
}

std::int64_t shared_by(const Ngrams& first, const Ngrams& second) {
    std::int64_t shared = 0;
    for (const auto& [ngram, count] : first) {
        const auto found = second.find(ngram);
        if (found != second.end()) shared += std::min(count, found->second);
    }
    return shared;
}

}  // namespace switchyard::score
