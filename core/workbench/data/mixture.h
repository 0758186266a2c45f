// Samples of several sources as one: an epoch has of each as many as its weight says.
//
// first_exhausted: as many in all as the source allows that is used up first; none comes twice, and of the
// others it is the same samples in every epoch, chosen by the seed.  all_exhausted: as many as it takes until
// each source has given all that it has; the others begin again, and give what is left over by the seed.
// Sources alternate as evenly as their counts allow. All of that is a function of sizes, weights and seed, so
// a loader that is resumed goes on in the same stream.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <switchyard/interfaces/data_loader.h>
#include "core/kernel/config/data_config.h"

namespace switchyard::data {

struct SourceShare {
    std::int64_t samples = 0;  // one at least
    double weight = 1.0;       // above 0
};

constexpr std::int64_t most_drawn = 1'000'000'000;

// Samples of each source in an epoch. Empty: they would be more than most_drawn.
std::vector<std::int64_t> epoch_counts(const std::vector<SourceShare>& shares, config::Stopping stopping);

class Mixture final : public SampleSource {
public:
    Mixture(std::vector<std::shared_ptr<const SampleSource>> sources, std::vector<std::int64_t> drawn,
            std::uint64_t seed);

    std::int64_t size() const override { return static_cast<std::int64_t>(source_at_.size()); }
    std::int64_t length(std::int64_t index) const override;
    std::int64_t target_length(std::int64_t index) const override;
    // A sample that comes several times in an epoch is drawn anew each time.
    Sample get(std::int64_t index, std::int64_t epoch) const override;

    struct Place {
        std::size_t source;
        std::int64_t sample;  // of that source
        std::int64_t pass;    // how many times it came before in this epoch
    };
    Place place(std::int64_t index) const;

private:
    void alternate();

    std::vector<std::shared_ptr<const SampleSource>> sources_;
    std::vector<std::int64_t> drawn_;
    std::vector<std::vector<std::int64_t>>
        last_pass_;                         // of each source: samples of the pass that is not whole
    std::vector<std::uint16_t> source_at_;  // by index
    std::vector<std::int64_t> before_;  // of each source, in stretches of `stretch` indices: those before it
};

}  // namespace switchyard::data
