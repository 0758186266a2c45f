// Data of the cases: numbers that depend on a seed alone, laid out in memory as a case wants them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::conformance {

// A seed from a case's name.
std::uint64_t seed_of(std::string_view name, std::uint64_t seed);
// That of another draw of its values; even numbers apart, so that choices by a seed's last bit stay.
inline std::uint64_t seed_of(std::string_view name, std::uint64_t seed, int draw) {
    return seed_of(name, seed) + static_cast<std::uint64_t>(draw) * 1000000;
}

// Numbers of mean 0 and variance 1, within +-3.47 (sums of four uniform ones), float64 on the CPU.
at::Tensor bell(at::IntArrayRef sizes, std::uint64_t seed);

// Overwrites one value, in the middle of every dimension.
void put_nan_in_the_middle(const at::Tensor& values);

// int64 in [low, high), on the CPU.
at::Tensor integers(at::IntArrayRef sizes, std::int64_t low, std::int64_t high, std::uint64_t seed);

// How a tensor lies in memory.
enum class Placement {
    dense,
    // dense, the two dimensions before the last exchanged in memory: [B, N, H, D] seen as [B, H, N, D]
    permuted,
    sliced,   // rows with gaps between them, at an odd offset
    stepped,  // every second value of the last dimension
    expanded  // stride 0 along the first dimension: all its entries are the first
};
const char* name(Placement placement);

// The values in `dtype` and on `device`, placed; what lies around and between them in memory is
// `surroundings` (NaN: poison).
at::Tensor place(const at::Tensor& values, at::ScalarType dtype, at::Device device, Placement placement,
                 double surroundings);

// The bytes of all memory that some tensors lie in, to see whether a call has changed them.
class Snapshot {
public:
    explicit Snapshot(const std::vector<at::Tensor>& tensors);
    // The number in `tensors` of one that has changed, or -1.
    int changed() const;

private:
    std::vector<at::Tensor> tensors_;
    std::vector<at::Tensor> before_;
};

}  // namespace switchyard::conformance
