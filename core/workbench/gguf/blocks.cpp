#include "core/workbench/gguf/blocks.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace switchyard::gguf {
namespace {

constexpr std::size_t group = QuantizedGroups::size;
constexpr std::size_t super_block = 256;

template <class Number>
Number load(const std::byte* from) {
    Number value{};
    std::memcpy(&value, from, sizeof value);
    return value;
}

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// IEEE 754 binary16 is a part of binary32: every value is exact.
float half_at(const std::byte* from) {
    const std::uint32_t half = load<std::uint16_t>(from);
    const std::uint32_t sign = (half & 0x8000U) << 16, exponent = (half >> 10) & 0x1FU,
                        fraction = half & 0x3FFU;
    if (exponent == 0x1F) return from_bits(sign | 0x7F800000U | (fraction << 13));
    if (exponent != 0) return from_bits(sign | ((exponent + 112) << 23) | (fraction << 13));
    const float small = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -small : small;
}

std::uint8_t byte_at(const std::byte* from) { return std::to_integer<std::uint8_t>(*from); }
float low(const std::byte* from) { return static_cast<float>(byte_at(from) & 0xF); }
float high(const std::byte* from) { return static_cast<float>(byte_at(from) >> 4); }

// One block each.
void read_f32(const std::byte* block, float* out) { out[0] = load<float>(block); }
void read_f16(const std::byte* block, float* out) { out[0] = half_at(block); }
void read_bf16(const std::byte* block, float* out) {
    out[0] = from_bits(static_cast<std::uint32_t>(load<std::uint16_t>(block)) << 16);
}

void read_q8_0(const std::byte* block, float* out) {
    const float scale = half_at(block);
    for (std::size_t i = 0; i < group; ++i)
        out[i] = scale * static_cast<float>(load<std::int8_t>(block + 2 + i));
}

void read_q4_0(const std::byte* block, float* out) {
    const float scale = half_at(block);
    for (std::size_t i = 0; i < group / 2; ++i) {
        out[i] = scale * (low(block + 2 + i) - 8.0F);
        out[i + group / 2] = scale * (high(block + 2 + i) - 8.0F);
    }
}

void read_q4_1(const std::byte* block, float* out) {
    const float scale = half_at(block), minimum = half_at(block + 2);
    for (std::size_t i = 0; i < group / 2; ++i) {
        out[i] = scale * low(block + 4 + i) + minimum;
        out[i + group / 2] = scale * high(block + 4 + i) + minimum;
    }
}

struct GroupScale {
    float scale, minimum;
};

// Of Q4_K's 12 bytes: the first 4 groups have 6 bits each in bytes 0-3 (scales) and 4-7 (minima); of the
// others the lower 4 bits are in bytes 8-11, the upper 2 above those of the first 4 groups.
GroupScale scale_of(const std::byte* packed, std::size_t index) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned>(byte_at(packed + i)); };
    if (index < 4) return {static_cast<float>(at(index) & 63), static_cast<float>(at(index + 4) & 63)};
    const unsigned scale = (at(index + 4) & 0xF) | ((at(index - 4) >> 6) << 4);
    const unsigned minimum = (at(index + 4) >> 4) | ((at(index) >> 6) << 4);
    return {static_cast<float>(scale), static_cast<float>(minimum)};
}

void read_q4_k(const std::byte* block, float* out) {
    const float scale = half_at(block), minimum = half_at(block + 2);
    const std::byte* bits = block + 4 + 12;
    for (std::size_t pair = 0; pair < super_block / (2 * group); ++pair, bits += group, out += 2 * group) {
        const auto first = scale_of(block + 4, 2 * pair), second = scale_of(block + 4, 2 * pair + 1);
        const float d1 = scale * first.scale, m1 = minimum * first.minimum;
        const float d2 = scale * second.scale, m2 = minimum * second.minimum;
        for (std::size_t i = 0; i < group; ++i) {
            out[i] = d1 * low(bits + i) - m1;
            out[i + group] = d2 * high(bits + i) - m2;
        }
    }
}

void read_q6_k(const std::byte* block, float* out) {
    constexpr std::size_t half = super_block / 2, quarter = half / 4, scaled = 16;
    const float scale = half_at(block + 208);
    for (std::size_t part = 0; part < 2; ++part, out += half) {
        const std::byte* lower = block + part * 64;
        const std::byte* upper = block + 128 + part * 32;
        const std::byte* scales = block + 192 + part * 8;
        for (std::size_t i = 0; i < half; ++i) {
            const std::size_t line = i / quarter, column = i % quarter;
            const unsigned four = byte_at(lower + column + (line % 2) * quarter) >> (line < 2 ? 0 : 4) & 0xFU;
            const unsigned two = byte_at(upper + column) >> (2 * line) & 3U;
            const auto q = static_cast<float>(static_cast<int>(four | two << 4) - 32);
            out[i] = scale * static_cast<float>(load<std::int8_t>(scales + i / scaled)) * q;
        }
    }
}

using Read = void (*)(const std::byte*, float*);

Read reader_of(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, Read>, 8> readers{{{"F32", read_f32},
                                                                        {"F16", read_f16},
                                                                        {"BF16", read_bf16},
                                                                        {"Q8_0", read_q8_0},
                                                                        {"Q4_0", read_q4_0},
                                                                        {"Q4_1", read_q4_1},
                                                                        {"Q4_K", read_q4_k},
                                                                        {"Q6_K", read_q6_k}}};
    for (const auto& [known, read] : readers) {
        if (known == name) return read;
    }
    throw std::invalid_argument("blocks of " + std::string(name) + " are not read");
}

}  // namespace

void dequantize(const TensorType& type, const std::byte* data, std::span<float> values) {
    const auto read = reader_of(type.name);
    for (std::size_t i = 0; i < values.size(); i += type.elements, data += type.bytes)
        read(data, values.data() + i);
}

const QuantizedGroups* groups_of(const TensorType& type) {
    static constexpr QuantizedGroups q8_0{8, false}, q4_0{4, false}, q4_1{4, true};
    if (type.name == "Q8_0") return &q8_0;
    if (type.name == "Q4_0") return &q4_0;
    return type.name == "Q4_1" ? &q4_1 : nullptr;
}

void split_groups(const TensorType& type, const std::byte* data, std::span<std::int8_t> values,
                  std::span<float> scales, std::span<float> zero_points) {
    const auto* const form = groups_of(type);
    if (form == nullptr)
        throw std::invalid_argument("blocks of " + std::string(type.name) + " are no groups");
    const std::size_t head = form->has_zero_points ? 4 : 2;
    for (std::size_t i = 0; i < scales.size(); ++i, data += type.bytes) {
        scales[i] = half_at(data);
        const bool constant = form->has_zero_points && scales[i] == 0.0F;
        if (constant) scales[i] = half_at(data + 2);
        if (form->has_zero_points) zero_points[i] = constant ? -1.0F : -8.0F - half_at(data + 2) / scales[i];
        auto* const out = values.data() + i * group;
        if (form->bits == 8) {
            std::memcpy(out, data + head, group);
            continue;
        }
        for (std::size_t k = 0; k < group / 2; ++k) {
            const int both = byte_at(data + head + k);
            out[k] = static_cast<std::int8_t>(constant ? 0 : (both & 0xF) - 8);
            out[k + group / 2] = static_cast<std::int8_t>(constant ? 0 : (both >> 4) - 8);
        }
    }
}

}  // namespace switchyard::gguf
