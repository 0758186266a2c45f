#include "composition.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <switchyard/reference/epoch_order.h>

namespace switchyard::batching {
namespace {

std::int64_t cut(std::int64_t length, const LoaderParams& params) {
    return params.max_length > 0 ? std::min(length, params.max_length) : length;
}

std::int64_t rounded(std::int64_t length, const LoaderParams& params) {
    const auto up = (length + params.pad_multiple - 1) / params.pad_multiple * params.pad_multiple;
    return params.max_length > 0 ? std::min(up, params.max_length) : up;
}

std::int64_t budget_of(const LoaderParams& params) {
    return params.token_budget > 0 ? params.token_budget : std::numeric_limits<std::int64_t>::max();
}

// For each window of the order calls `compose(pool, last)`, which takes what it makes batches of out of the
// pool.
template <class Compose>
void in_windows(const Indices& order, std::int64_t window, const Compose& compose) {
    Indices pool;
    const auto step = static_cast<std::size_t>(window);
    for (std::size_t begin = 0; begin < order.size(); begin += step) {
        const auto end = std::min(order.size(), begin + step);
        pool.insert(pool.end(), order.begin() + begin, order.begin() + end);
        compose(pool, end == order.size());
    }
}

void sort_longest_first(Indices& samples, const SampleLengths& lengths) {
    std::stable_sort(samples.begin(), samples.end(),
                     [&](std::int64_t a, std::int64_t b) { return lengths[a].both() > lengths[b].both(); });
}

// The first of many batches that has room for so many tokens: a tree of the largest room below each node.
class FirstFit {
public:
    explicit FirstFit(std::size_t most) {
        while (leaves_ < most) leaves_ *= 2;
        room_.assign(2 * leaves_, 0);
    }

    void set(std::size_t batch, std::int64_t room) {
        std::size_t node = leaves_ + batch;
        room_[node] = room;
        for (node /= 2; node > 0; node /= 2) room_[node] = std::max(room_[2 * node], room_[2 * node + 1]);
    }
    std::int64_t room(std::size_t batch) const { return room_[leaves_ + batch]; }
    // `count` if there is none.
    std::size_t find(std::int64_t tokens, std::size_t count) const {
        if (room_[1] < tokens) return count;
        std::size_t node = 1;
        while (node < leaves_) node = room_[2 * node] >= tokens ? 2 * node : 2 * node + 1;
        return node - leaves_;
    }

private:
    std::size_t leaves_ = 1;
    std::vector<std::int64_t> room_;
};

struct Bin {
    Indices samples;
    std::int64_t tokens = 0;
};

std::vector<Bin> first_fit_decreasing(Indices samples, const SampleLengths& lengths,
                                      const LoaderParams& params) {
    sort_longest_first(samples, lengths);
    const auto budget = budget_of(params);
    std::vector<Bin> bins;
    FirstFit rooms(samples.size());
    for (const auto sample : samples) {
        // An empty sample takes a place, too, so that a batch that is full of tokens is full.
        const auto tokens = std::max<std::int64_t>(lengths[sample].both(), 1);
        const auto place = rooms.find(tokens, bins.size());
        if (place == bins.size()) bins.emplace_back();
        Bin& bin = bins[place];
        bin.samples.push_back(sample);
        bin.tokens += tokens;
        const bool full = std::ssize(bin.samples) >= params.batch_size || bin.tokens >= budget;
        rooms.set(place, full ? 0 : budget - bin.tokens);
    }
    return bins;
}

bool is_full(const Bin& bin, const LoaderParams& params) {
    return std::ssize(bin.samples) >= params.batch_size ||
           static_cast<double>(bin.tokens) >= 0.99 * static_cast<double>(budget_of(params));
}

// Halves the largest batches until their number is a multiple of `ranks`; where all are single samples, the
// first ones come again.
void even_out(Batches& batches, std::size_t ranks) {
    std::size_t repeated = 0;
    while (batches.size() % ranks != 0) {
        const auto largest = std::max_element(
            batches.begin(), batches.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
        if (largest->size() < 2) {
            batches.push_back(Indices(batches[repeated++]));
            continue;
        }
        const auto middle = largest->begin() + (std::ssize(*largest) + 1) / 2;
        Indices second(middle, largest->end());
        largest->erase(middle, largest->end());
        batches.push_back(std::move(second));
    }
}

}  // namespace

SampleLengths lengths_of(const SampleSource& source, const LoaderParams& params) {
    SampleLengths lengths(static_cast<std::size_t>(source.size()));
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const auto index = static_cast<std::int64_t>(i);
        const auto target = source.target_length(index);
        lengths[i] = {cut(source.length(index) - target, params), cut(target, params)};
    }
    return lengths;
}

std::int64_t padded_size(std::int64_t count, const Lengths& longest, const LoaderParams& params) {
    return count * (rounded(longest.source, params) + rounded(longest.target, params));
}

Batches cut_in_order(const Indices& order, const LoaderParams& params, std::int64_t sample_tokens) {
    auto most = params.batch_size;
    if (params.token_budget > 0)
        most = std::clamp<std::int64_t>(params.token_budget / sample_tokens, 1, most);
    Batches batches;
    for (std::int64_t begin = 0; begin < std::ssize(order); begin += most) {
        const auto end = std::min<std::int64_t>(std::ssize(order), begin + most);
        if (params.drop_last && end - begin < most) break;
        batches.emplace_back(order.begin() + begin, order.begin() + end);
    }
    return batches;
}

Batches bucket(const Indices& order, const SampleLengths& lengths, const LoaderParams& params,
               std::int64_t window) {
    Batches batches;
    const auto budget = budget_of(params);
    in_windows(order, window, [&](Indices& pool, bool last) {
        sort_longest_first(pool, lengths);
        std::size_t taken = 0;
        Indices batch;
        Lengths longest;
        for (std::size_t i = 0; i < pool.size(); ++i) {
            const auto& one = lengths[pool[i]];
            const Lengths with{std::max(longest.source, one.source), std::max(longest.target, one.target)};
            const auto count = std::ssize(batch) + 1;
            if (!batch.empty() && (count > params.batch_size || padded_size(count, with, params) > budget)) {
                batches.push_back(std::exchange(batch, {}));
                taken = i;
                longest = one;
            } else {
                longest = with;
            }
            batch.push_back(pool[i]);
        }
        if (std::ssize(batch) == params.batch_size || (last && !params.drop_last)) {
            batches.push_back(batch);
            taken = pool.size();
        }
        pool.erase(pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(taken));
    });
    return batches;
}

Batches pack(const Indices& order, const SampleLengths& lengths, const LoaderParams& params,
             std::int64_t window) {
    Batches batches;
    in_windows(order, window, [&](Indices& pool, bool last) {
        auto bins = first_fit_decreasing(std::exchange(pool, {}), lengths, params);
        // The emptiest first: those wait for samples that fill them, but not for more than a quarter of a
        // window, for there may never be such samples.
        std::stable_sort(bins.begin(), bins.end(),
                         [](const Bin& a, const Bin& b) { return a.tokens < b.tokens; });
        if (last && params.drop_last && !bins.empty() && !is_full(bins.front(), params))
            bins.erase(bins.begin());
        for (auto& bin : bins) {
            const bool waits =
                !last && !is_full(bin, params) && std::ssize(pool) + std::ssize(bin.samples) <= window / 4;
            if (waits)
                pool.insert(pool.end(), bin.samples.begin(), bin.samples.end());
            else
                batches.push_back(std::move(bin.samples));
        }
    });
    return batches;
}

Batches deal(Batches batches, const LoaderParams& params, std::int64_t epoch) {
    const auto ranks = static_cast<std::size_t>(params.world_size);
    if (params.drop_last)
        batches.resize(batches.size() - batches.size() % ranks);
    else if (!batches.empty())
        even_out(batches, ranks);
    LoaderParams alone;
    alone.shuffle = params.shuffle;
    alone.seed = params.seed ^ 0x9E3779B97F4A7C15U;  // not the order of the samples again
    Batches own;
    const auto order = reference::epoch_order(std::ssize(batches), alone, epoch);
    for (auto place = static_cast<std::size_t>(params.rank); place < order.size(); place += ranks)
        own.push_back(std::move(batches[order[place]]));
    return own;
}

}  // namespace switchyard::batching
