// Draws numbers without repetition.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/workbench/data/splitmix64.h"

namespace switchyard::data {

// 0 ... count - 1 in random order, one by one, a function of the seed: the steps of a Fisher-Yates shuffle,
// of which only what has moved is kept.
class Drawing {
public:
    Drawing(std::int64_t count, std::uint64_t seed) : count_(count), random_(seed, 0, 0) {}

    std::int64_t left() const { return count_ - drawn_; }
    // `left` is positive.
    std::int64_t next() {
        const auto place = drawn_ + random_.below(left());
        const auto number = at(place);
        moved_[place] = at(drawn_++);
        return number;
    }

private:
    std::int64_t at(std::int64_t place) const {
        const auto found = moved_.find(place);
        return found == moved_.end() ? place : found->second;
    }

    std::int64_t count_, drawn_ = 0;
    SplitMix64 random_;
    std::unordered_map<std::int64_t, std::int64_t> moved_;
};

}  // namespace switchyard::data
