// The magnitudes of many numbers, counted in bins of equal width, and the range that 8 bits are given by
// them. A narrow range rounds finely and cuts off what lies beyond.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/types.h>

namespace switchyard::quantize {

enum class RangeRule : std::uint8_t {
    minmax,      // the largest magnitude: nothing is cut off
    percentile,  // what a share of all magnitudes does not exceed (Wu et al. 2020, arXiv:2004.09602)
    entropy      // where the distribution loses the least information (Migacz 2017, 8-bit Inference with
                 // TensorRT): the smallest divergence of Kullback and Leibler from the counts
};

class Magnitudes {
public:
    // Numbers that are not finite are left out. Bins grow to twice their width, by pairs, until all fit.
    void add(const at::Tensor& numbers);

    double largest() const { return largest_; }
    // 0 where all numbers were 0, or there were none. `percent`: of RangeRule::percentile, above 0 to 100.
    double range(RangeRule rule, double percent) const;

private:
    static constexpr std::size_t bin_count = 2048;

    void fit(double magnitude);
    double percentile(double percent) const;
    double entropy() const;

    std::vector<double> bins_ = std::vector<double>(bin_count, 0.0);
    double width_ = 0.0;  // of a bin; 0: nothing but zeros came so far
    double zeros_ = 0.0;  // that came then
    double largest_ = 0.0;
};

}  // namespace switchyard::quantize

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 3> names<quantize::RangeRule>{"minmax", "percentile",
                                                                            "entropy"};
}  // namespace switchyard
