#include "core/workbench/compare/arms/drawn_samples.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/workbench/compare/arms/random_samples.h"
#include "core/workbench/data/drawing.h"

namespace switchyard::compare {
namespace {

constexpr std::int64_t compared_samples = 32;
constexpr std::uint64_t drawing_seed = 1;  // of samples that are evaluated

}  // namespace

data::SampleList drawn_samples(const train::Session& session, const ArmServerOptions& options) {
    const auto& config = session.config();
    const auto seed = static_cast<std::uint64_t>(config.run.seed);
    if (!config.data.given()) return random_samples(config, options.samples, options.lengths, seed);
    const auto& all = *session.data().train;
    data::SampleList samples;
    data::Drawing drawing(all.size(), seed);
    while (drawing.left() > 0 && samples.size() < options.samples) samples.add(all.get(drawing.next(), 0));
    return samples;
}

data::SampleList first_samples(const data::SampleList& samples) {
    data::SampleList few;
    for (std::int64_t i = 0; i < std::min(compared_samples, samples.size()); ++i) few.add(samples.get(i, 0));
    return few;
}

std::shared_ptr<const SampleSource> held_out_samples(std::shared_ptr<const SampleSource> all,
                                                     std::int64_t most) {
    if (all->size() <= most) return all;
    data::Drawing drawing(all->size(), drawing_seed);
    std::vector<std::int64_t> numbers;
    while (static_cast<std::int64_t>(numbers.size()) < most) numbers.push_back(drawing.next());
    std::sort(numbers.begin(), numbers.end());
    auto samples = std::make_shared<data::SampleList>();
    for (const auto number : numbers) samples->add(all->get(number, 0));
    return samples;
}

}  // namespace switchyard::compare
