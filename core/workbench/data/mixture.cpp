#include "core/workbench/data/mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/workbench/data/splitmix64.h"

namespace switchyard::data {
namespace {

constexpr std::int64_t stretch = 256;

// `count` of the numbers below `size`, in order.
std::vector<std::int64_t> chosen(std::int64_t size, std::int64_t count, SplitMix64 random) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(size));
    std::iota(numbers.begin(), numbers.end(), 0);
    for (std::int64_t i = 0; i < count; ++i)
        std::swap(numbers[static_cast<std::size_t>(i)],
                  numbers[static_cast<std::size_t>(i + random.below(size - i))]);
    numbers.resize(static_cast<std::size_t>(count));
    numbers.shrink_to_fit();
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

}  // namespace

std::vector<std::int64_t> epoch_counts(const std::vector<SourceShare>& shares, config::Stopping stopping) {
    const bool all = stopping == config::Stopping::all_exhausted;
    const auto per_weight = [](const SourceShare& share) {
        return static_cast<double>(share.samples) / share.weight;
    };
    double samples = per_weight(shares.front());  // for a weight of 1
    for (const auto& share : shares)
        samples = all ? std::max(samples, per_weight(share)) : std::min(samples, per_weight(share));
    std::vector<std::int64_t> counts;
    double total = 0.0;
    for (const auto& share : shares) {
        const double wanted = samples * share.weight;
        total += wanted;
        if (!(total <= static_cast<double>(most_drawn))) return {};
        const auto count = static_cast<std::int64_t>(std::llround(wanted));
        counts.push_back(all ? std::max(count, share.samples) : std::min(count, share.samples));
    }
    return counts;
}

Mixture::Mixture(std::vector<std::shared_ptr<const SampleSource>> sources, std::vector<std::int64_t> drawn,
                 std::uint64_t seed)
    : sources_(std::move(sources)), drawn_(std::move(drawn)) {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        const auto size = sources_[i]->size();
        const auto left = drawn_[i] % size;
        last_pass_.push_back(chosen(size, left, SplitMix64(seed, static_cast<std::int64_t>(i), -1)));
    }
    alternate();
}

// The source that is furthest behind its share gives the next sample.
void Mixture::alternate() {
    using Next = std::pair<double, std::size_t>;  // the place of its next sample in [0, 1), the source
    std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
    std::vector<std::int64_t> given(sources_.size(), 0);
    const auto push = [&](std::size_t source) {
        if (given[source] == drawn_[source]) return;
        next.emplace((static_cast<double>(given[source]) + 0.5) / static_cast<double>(drawn_[source]),
                     source);
    };
    for (std::size_t i = 0; i < sources_.size(); ++i) push(i);
    source_at_.reserve(
        static_cast<std::size_t>(std::accumulate(drawn_.begin(), drawn_.end(), std::int64_t{0})));
    while (!next.empty()) {
        const auto source = next.top().second;
        next.pop();
        if (size() % stretch == 0) before_.insert(before_.end(), given.begin(), given.end());
        source_at_.push_back(static_cast<std::uint16_t>(source));
        ++given[source];
        push(source);
    }
}

Mixture::Place Mixture::place(std::int64_t index) const {
    if (index < 0 || index >= size()) throw std::out_of_range("sample " + std::to_string(index));
    const auto begin = source_at_.begin() + index / stretch * stretch;
    const auto source = source_at_[static_cast<std::size_t>(index)];
    const auto earlier = before_[static_cast<std::size_t>(index / stretch) * sources_.size() + source] +
                         std::count(begin, source_at_.begin() + index, source);
    const auto size = sources_[source]->size();
    const auto pass = earlier / size, rest = earlier % size;
    const bool whole = (pass + 1) * size <= drawn_[source];
    return {source, whole ? rest : last_pass_[source][static_cast<std::size_t>(rest)], pass};
}

std::int64_t Mixture::length(std::int64_t index) const {
    const auto at = place(index);
    return sources_[at.source]->length(at.sample);
}

std::int64_t Mixture::target_length(std::int64_t index) const {
    const auto at = place(index);
    return sources_[at.source]->target_length(at.sample);
}

Sample Mixture::get(std::int64_t index, std::int64_t epoch) const {
    const auto at = place(index);
    const auto size = sources_[at.source]->size();
    const auto passes = (drawn_[at.source] + size - 1) / size;
    return sources_[at.source]->get(at.sample, epoch * passes + at.pass);
}

}  // namespace switchyard::data
