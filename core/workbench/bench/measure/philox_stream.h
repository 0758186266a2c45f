// Numbers for resampling and for the order of a timed run: the same on every machine and library, which the
// distributions of <random> are not. Philox4x32-10 of interfaces/dropout.h as a stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <switchyard/interfaces/dropout.h>

namespace switchyard::bench {

class PhiloxStream {
public:
    // `stream` makes independent sequences of one seed.
    explicit PhiloxStream(std::uint64_t seed, std::uint32_t stream = 0) : seed_(seed), stream_(stream) {}

    std::uint32_t next() {
        if (used_ == words_.size()) {
            words_ = philox4x32_10({static_cast<std::uint32_t>(block_),
                                    static_cast<std::uint32_t>(block_ >> 32), stream_, 0x434f4d50U},
                                   seed_);
            ++block_;
            used_ = 0;
        }
        return words_[used_++];
    }

    // Uniform in [0, bound), without bias (Lemire 2019, "Fast random integer generation in an interval",
    // arXiv:1805.10941).
    std::uint32_t below(std::uint32_t bound) {
        const std::uint32_t threshold = (0U - bound) % bound;
        for (;;) {
            const std::uint64_t product = std::uint64_t{next()} * bound;
            if (static_cast<std::uint32_t>(product) >= threshold)
                return static_cast<std::uint32_t>(product >> 32);
        }
    }

    // Uniform in [0, 1), 53 bits.
    double uniform() {
        const std::uint64_t high = next();
        return static_cast<double>((high << 21) ^ (next() >> 11)) * 0x1p-53;
    }

    // Fisher and Yates.
    template <class T>
    void shuffle(std::vector<T>& values) {
        for (std::size_t i = values.size(); i > 1; --i) {
            std::swap(values[i - 1], values[below(static_cast<std::uint32_t>(i))]);
        }
    }

private:
    std::uint64_t seed_;
    std::uint32_t stream_;
    std::uint64_t block_ = 0;
    std::array<std::uint32_t, 4> words_{};
    std::size_t used_ = 4;
};

}  // namespace switchyard::bench
