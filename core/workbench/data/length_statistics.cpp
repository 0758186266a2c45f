#include "core/workbench/data/length_statistics.h"

#include <algorithm>
#include <map>

namespace switchyard::data {
namespace {

constexpr std::int64_t most_bins = 20;
constexpr std::int64_t widest_bar = 50;

// The least length up to which there are `share` of the samples.
std::int64_t quantile(const std::map<std::int64_t, std::int64_t>& counts, std::int64_t samples,
                      double share) {
    std::int64_t seen = 0;
    for (const auto& [length, count] : counts) {
        seen += count;
        if (static_cast<double>(seen) >= share * static_cast<double>(samples)) return length;
    }
    return counts.empty() ? 0 : counts.rbegin()->first;
}

// Wide enough that `most_bins` of them, each beginning at a multiple of it, reach from one end to the other.
std::int64_t bin_width(std::int64_t shortest, std::int64_t longest) {
    for (std::int64_t power = 1;; power *= 10) {
        for (const std::int64_t times : {1, 2, 5}) {
            const auto width = times * power;
            if (longest / width - shortest / width < most_bins) return width;
        }
    }
}

}  // namespace

LengthStatistics length_statistics(const SampleSource& samples) {
    std::map<std::int64_t, std::int64_t> counts;
    LengthStatistics all;
    all.samples = samples.size();
    for (std::int64_t i = 0; i < all.samples; ++i) {
        const auto length = samples.length(i);
        ++counts[length];
        all.tokens += length;
    }
    if (counts.empty()) return all;
    all.shortest = counts.begin()->first;
    all.longest = counts.rbegin()->first;
    all.median = quantile(counts, all.samples, 0.5);
    all.percent_90 = quantile(counts, all.samples, 0.9);
    all.percent_99 = quantile(counts, all.samples, 0.99);
    const auto width = bin_width(all.shortest, all.longest);
    for (auto from = all.shortest / width * width; from <= all.longest; from += width)
        all.bins.push_back({from, from + width - 1, 0});
    for (const auto& [length, count] : counts)
        all.bins[static_cast<std::size_t>(length / width - all.shortest / width)].samples += count;
    return all;
}

std::vector<std::string> histogram_lines(const LengthStatistics& lengths) {
    std::int64_t most = 1;
    std::size_t label_width = 0, count_width = 0;
    const auto label = [](const LengthBin& bin) {
        auto text = std::to_string(bin.from);
        if (bin.to != bin.from) text.append("-").append(std::to_string(bin.to));
        return text;
    };
    for (const auto& bin : lengths.bins) {
        most = std::max(most, bin.samples);
        label_width = std::max(label_width, label(bin).size());
        count_width = std::max(count_width, std::to_string(bin.samples).size());
    }
    std::vector<std::string> lines;
    for (const auto& bin : lengths.bins) {
        auto name = label(bin), count = std::to_string(bin.samples);
        name.resize(label_width, ' ');
        // What is there at all is seen.
        const auto bar = (bin.samples * widest_bar + most - 1) / most;
        auto line = name + "  " + std::string(count_width - count.size(), ' ') + count;
        if (bar > 0) line += "  " + std::string(static_cast<std::size_t>(bar), '#');
        lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace switchyard::data
