#include "core/workbench/train/precision/value_range.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <type_traits>

namespace switchyard::train {
namespace {

// Magnitudes are compared by their bits, which are in the same order: no value is flushed or trapped on the
// way.
template <class Float>
using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;

template <class Float>
constexpr Bits<Float> magnitude_mask = std::numeric_limits<Bits<Float>>::max() >> 1;

template <class Float>
Bits<Float> bits_of(double value) {
    return std::bit_cast<Bits<Float>>(static_cast<Float>(value));
}

// The first magnitudes that are no longer flushed, normal, and too large.
template <class Float>
struct Limits {
    explicit Limits(const NumberFormat& format)
        : kept(bits_of<Float>(format.flushed_up_to()) + 1),
          normal(bits_of<Float>(format.normal_from())),
          overflow(bits_of<Float>(format.overflow_tie()) + (format.tie_overflows() ? 0 : 1)) {}

    Bits<Float> kept, normal, overflow;
};

constexpr std::ptrdiff_t block = 4096;  // stays in the first cache while it is gone through again and again

template <class Integer>
std::uint64_t count_from(const Integer* bits, std::ptrdiff_t count, Integer limit) {
    Integer found = 0;
    for (std::ptrdiff_t i = 0; i < count; ++i) found += bits[i] >= limit ? 1 : 0;
    return found;
}

template <class Float>
class Counter {
public:
    explicit Counter(ValueRange& range) : range_(range) {
        for (std::size_t i = 0; i < limits_.size(); ++i) limits_[i] = Limits<Float>(candidate_formats[i]);
    }

    void add(const Float* values, std::ptrdiff_t count) {
        for (std::ptrdiff_t begin = 0; begin < count; begin += block)
            add_block(values + begin, std::min(block, count - begin));
        range_.count += static_cast<std::uint64_t>(count);
        if (largest_ == 0) return;
        range_.largest = std::max(range_.largest, static_cast<double>(std::bit_cast<Float>(largest_)));
        range_.smallest = std::min(range_.smallest, static_cast<double>(std::bit_cast<Float>(smallest_)));
    }

private:
    using Integer = Bits<Float>;
    static constexpr Integer infinity = std::bit_cast<Integer>(std::numeric_limits<Float>::infinity());

    void add_block(const Float* values, std::ptrdiff_t count) {
        std::array<Integer, block> bits;
        Integer smallest = smallest_ - 1, largest = largest_;
        for (std::ptrdiff_t i = 0; i < count; ++i) {
            const Integer one = std::bit_cast<Integer>(values[i]) & magnitude_mask<Float>;
            bits[static_cast<std::size_t>(i)] = one;
            smallest = std::min<Integer>(smallest, one - 1);  // zero becomes the largest of all
            largest = std::max<Integer>(largest, one < infinity ? one : 0);
        }
        largest_ = largest;
        smallest_ = smallest + 1;
        const auto nonzero = count_from<Integer>(bits.data(), count, 1);
        const auto not_finite = count_from<Integer>(bits.data(), count, infinity);
        const auto nans = count_from<Integer>(bits.data(), count, infinity + 1);
        range_.zeros += static_cast<std::uint64_t>(count) - nonzero;
        range_.nans += nans;
        range_.infinities += not_finite - nans;
        for (std::size_t i = 0; i < limits_.size(); ++i) {
            const auto kept = count_from(bits.data(), count, limits_[i].kept);
            range_.formats[i].flushed += nonzero - kept;
            range_.formats[i].subnormal += kept - count_from(bits.data(), count, limits_[i].normal);
            range_.formats[i].overflow += count_from(bits.data(), count, limits_[i].overflow) - not_finite;
        }
    }

    ValueRange& range_;
    std::array<Limits<Float>, candidate_formats.size()> limits_{
        Limits<Float>(candidate_formats[0]), Limits<Float>(candidate_formats[1]),
        Limits<Float>(candidate_formats[2]), Limits<Float>(candidate_formats[3])};
    Integer smallest_ = infinity, largest_ = 0;
};

template <class Float>
void count_values(ValueRange& range, const at::Tensor& tensor) {
    const auto values = tensor.contiguous();
    Counter<Float>(range).add(values.template const_data_ptr<Float>(), values.numel());
}

}  // namespace

void ValueRange::add(const at::Tensor& tensor) {
    if (!tensor.defined() || !at::isFloatingType(tensor.scalar_type()) || tensor.numel() == 0) return;
    const auto here = tensor.detach().to(at::kCPU);
    if (here.scalar_type() == at::kDouble) return count_values<double>(*this, here);
    count_values<float>(*this, here.to(at::kFloat));  // exact: all others are narrower
}

void ValueRange::add(const ValueRange& other) {
    count += other.count;
    zeros += other.zeros;
    nans += other.nans;
    infinities += other.infinities;
    smallest = std::min(smallest, other.smallest);
    largest = std::max(largest, other.largest);
    for (std::size_t i = 0; i < formats.size(); ++i) {
        formats[i].overflow += other.formats[i].overflow;
        formats[i].subnormal += other.formats[i].subnormal;
        formats[i].flushed += other.formats[i].flushed;
    }
}

}  // namespace switchyard::train
