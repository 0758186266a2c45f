#include <switchyard/conformance/values.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/set.h>

#include <switchyard/interfaces/dropout.h>

namespace switchyard::conformance {
namespace {

constexpr std::int64_t margin = 64;  // values before and after a dense tensor

at::Tensor filled(at::IntArrayRef sizes, const at::TensorOptions& options, double value) {
    return at::full(sizes, value, options);
}

at::Tensor place_dense(const at::Tensor& values, const at::TensorOptions& options, double surroundings) {
    const at::Tensor memory = filled({values.numel() + 2 * margin}, options, surroundings);
    const at::Tensor placed = memory.narrow(0, margin, values.numel()).view(values.sizes());
    placed.copy_(values);
    return placed;
}

at::Tensor place_permuted(const at::Tensor& values, const at::TensorOptions& options, double surroundings) {
    if (values.dim() < 2) return place_dense(values, options, surroundings);
    const std::int64_t first = values.dim() >= 3 ? values.dim() - 3 : 0;
    return place_dense(values.transpose(first, first + 1), options, surroundings).transpose(first, first + 1);
}

at::Tensor place_sliced(const at::Tensor& values, const at::TensorOptions& options, double surroundings) {
    std::vector<std::int64_t> sizes = values.sizes().vec();
    for (std::int64_t& size : sizes) size += 2;
    if (!sizes.empty()) sizes.back() += 5;
    at::Tensor placed = filled(sizes, options, surroundings);
    for (std::int64_t d = 0; d < values.dim(); ++d) {
        placed = placed.narrow(d, d + 1 == values.dim() ? 3 : 1, values.size(d));
    }
    placed.copy_(values);
    return placed;
}

at::Tensor place_stepped(const at::Tensor& values, const at::TensorOptions& options, double surroundings) {
    if (values.dim() == 0) return place_dense(values, options, surroundings);
    std::vector<std::int64_t> sizes = values.sizes().vec();
    sizes.back() = sizes.back() * 2 + 1;
    const at::Tensor placed = filled(sizes, options, surroundings).slice(-1, 1, sizes.back(), 2);
    placed.copy_(values);
    return placed;
}

at::Tensor place_expanded(const at::Tensor& values, const at::TensorOptions& options, double surroundings) {
    if (values.dim() == 0 || values.size(0) == 0) return place_dense(values, options, surroundings);
    return place_dense(values.narrow(0, 0, 1), options, surroundings).expand(values.sizes());
}

// All bytes of the tensor's storage as one tensor that shares them.
at::Tensor bytes_of(const at::Tensor& tensor) {
    const auto bytes = static_cast<std::int64_t>(tensor.storage().nbytes());
    return at::empty({0}, at::TensorOptions().dtype(at::kByte).device(tensor.device()))
        .set_(tensor.storage(), 0, {bytes}, {1});
}

}  // namespace

std::uint64_t seed_of(std::string_view name, std::uint64_t seed) {
    std::uint64_t hash = 0xcbf29ce484222325ULL ^ (seed * 0x9E3779B97F4A7C15ULL);
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return hash;
}

at::Tensor bell(at::IntArrayRef sizes, std::uint64_t seed) {
    at::Tensor values = at::empty(sizes, at::TensorOptions().dtype(at::kDouble));
    double* data = values.mutable_data_ptr<double>();
    const double unit = std::sqrt(3.0) / 65536.0;
    for (std::int64_t i = 0; i < values.numel(); i += 2) {
        const auto index = static_cast<std::uint64_t>(i);
        const auto words = philox4x32_10(
            {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 1, 0}, seed);
        const auto sum = [&](std::uint32_t a, std::uint32_t b) {
            const double parts = (a & 0xFFFFU) + (a >> 16) + (b & 0xFFFFU) + (b >> 16);
            return (parts - 2.0 * 65535.0) * unit;
        };
        data[i] = sum(words[0], words[1]);
        if (i + 1 < values.numel()) data[i + 1] = sum(words[2], words[3]);
    }
    return values;
}

void put_nan_in_the_middle(const at::Tensor& values) {
    at::Tensor middle = values;
    while (middle.dim() > 0) middle = middle.select(0, middle.size(0) / 2);
    middle.fill_(std::numeric_limits<double>::quiet_NaN());
}

at::Tensor integers(at::IntArrayRef sizes, std::int64_t low, std::int64_t high, std::uint64_t seed) {
    at::Tensor values = at::empty(sizes, at::TensorOptions().dtype(at::kLong));
    auto* data = values.mutable_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < values.numel(); ++i) {
        const auto words = philox4x32_10({static_cast<std::uint32_t>(i), 0, 2, 0}, seed);
        data[i] = low + static_cast<std::int64_t>(words[0] % static_cast<std::uint64_t>(high - low));
    }
    return values;
}

const char* name(Placement placement) {
    switch (placement) {
        case Placement::dense:
            return "dense";
        case Placement::permuted:
            return "permuted";
        case Placement::sliced:
            return "sliced";
        case Placement::stepped:
            return "stepped";
        case Placement::expanded:
            return "expanded";
    }
    return "unknown";
}

at::Tensor place(const at::Tensor& values, at::ScalarType dtype, at::Device device, Placement placement,
                 double surroundings) {
    const at::TensorOptions options = at::TensorOptions().dtype(dtype).device(device);
    switch (placement) {
        case Placement::permuted:
            return place_permuted(values, options, surroundings);
        case Placement::sliced:
            return place_sliced(values, options, surroundings);
        case Placement::stepped:
            return place_stepped(values, options, surroundings);
        case Placement::expanded:
            return place_expanded(values, options, surroundings);
        default:
            return place_dense(values, options, surroundings);
    }
}

Snapshot::Snapshot(const std::vector<at::Tensor>& tensors) : tensors_(tensors) {
    for (const at::Tensor& tensor : tensors_) {
        before_.push_back(tensor.defined() ? bytes_of(tensor).clone() : at::Tensor());
    }
}

int Snapshot::changed() const {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        if (tensors_[i].defined() && !bytes_of(tensors_[i]).equal(before_[i])) return static_cast<int>(i);
    }
    return -1;
}

}  // namespace switchyard::conformance
