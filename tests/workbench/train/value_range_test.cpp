// Formats against constants of their standards and against LibTorch's own casts; what is counted of values
// against those casts, one value at a time.
// To add a value worth a look: a line in `edges`.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "core/workbench/train/precision/value_range.h"

#include <switchyard_test.h>

using namespace switchyard;
using train::candidate_formats;
using train::number_formats;
using train::ValueRange;

namespace {

struct Constants {
    const char* name;
    int bits;
    double largest, normal, subnormal, epsilon, digits;
};

// Written out from the standards, not computed from bit counts.
constexpr Constants constants[] = {
    {"fp32", 32, 3.4028234663852886e38, 1.1754943508222875e-38, 1.401298464324817e-45, 1.1920928955078125e-07,
     7.22},
    {"tf32", 19, 3.4011621342146535e38, 1.1754943508222875e-38, 1.1479437019748901e-41, 0.0009765625, 3.31},
    {"bf16", 16, 3.3895313892515355e38, 1.1754943508222875e-38, 9.183549615799121e-41, 0.0078125, 2.41},
    {"fp16", 16, 65504.0, 6.103515625e-05, 5.960464477539063e-08, 0.0009765625, 3.31},
    {"E4M3", 8, 448.0, 0.015625, 0.001953125, 0.125, 1.20},
    {"E5M2", 8, 57344.0, 6.103515625e-05, 1.52587890625e-05, 0.25, 0.90}};

constexpr at::ScalarType candidate_types[] = {at::kHalf, at::kBFloat16, at::kFloat8_e4m3fn, at::kFloat8_e5m2};

at::Tensor tensor_of(const std::vector<float>& values) {
    auto tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kFloat);
    std::memcpy(tensor.data_ptr<float>(), values.data(), values.size() * sizeof(float));
    return tensor;
}

// All codes of a format of one or two bytes, as LibTorch reads them.
std::vector<double> all_values(at::ScalarType type) {
    const auto size = c10::elementSize(type);
    const std::int64_t count = size == 1 ? 256 : 65536;
    auto codes = at::empty({count}, at::TensorOptions().dtype(type));
    auto* const bytes = static_cast<std::uint8_t*>(codes.data_ptr());
    for (std::int64_t i = 0; i < count; ++i)
        std::memcpy(bytes + i * static_cast<std::int64_t>(size), &i, size);
    const auto wide = codes.to(at::kDouble);
    return {wide.data_ptr<double>(), wide.data_ptr<double>() + count};
}

// Every threshold of every format and its neighbours, and values of all magnitudes.
std::vector<float> many_values() {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    std::vector<float> edges{0.0F,
                             -0.0F,
                             infinity,
                             -infinity,
                             std::nanf(""),
                             448.0F,
                             464.0F,
                             480.0F,
                             61440.0F,
                             65520.0F,
                             std::numeric_limits<float>::max(),
                             std::numeric_limits<float>::denorm_min()};
    for (const auto& format : candidate_formats) {
        for (const double one : {format.largest(), format.overflow_tie(), format.smallest_normal(),
                                 format.normal_from(), format.smallest_subnormal(), format.flushed_up_to()}) {
            for (const float factor : {1.0F, -1.0F}) {
                const auto value = static_cast<float>(one);
                edges.insert(edges.end(), {factor * value, factor * std::nextafter(value, 0.0F),
                                           factor * std::nextafter(value, infinity)});
            }
        }
    }
    std::mt19937 random(5);
    for (int i = 0; i < 20000; ++i)
        edges.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    return edges;
}

// As each cast of LibTorch has it, one value at a time.
ValueRange by_casting(const std::vector<float>& values) {
    ValueRange range;
    range.count = values.size();
    const auto given = tensor_of(values);
    for (std::size_t f = 0; f < candidate_formats.size(); ++f) {
        const auto cast = given.to(candidate_types[f]).to(at::kDouble);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double magnitude = std::abs(static_cast<double>(values[i]));
            if (!std::isfinite(magnitude) || magnitude == 0.0) continue;
            const double rounded = std::abs(cast.data_ptr<double>()[i]);
            auto& fit = range.formats[f];
            fit.overflow += std::isfinite(rounded) ? 0 : 1;
            fit.flushed += rounded == 0.0 ? 1 : 0;
            fit.subnormal += rounded > 0.0 && rounded < constants[f == 0   ? 3
                                                                  : f == 1 ? 2
                                                                           : f + 2]
                                                            .normal
                                 ? 1
                                 : 0;
        }
    }
    for (const float value : values) {
        const double magnitude = std::abs(static_cast<double>(value));
        range.nans += std::isnan(value) ? 1 : 0;
        range.infinities += std::isinf(value) ? 1 : 0;
        range.zeros += value == 0.0F ? 1 : 0;
        if (!std::isfinite(value) || value == 0.0F) continue;
        range.smallest = std::min(range.smallest, magnitude);
        range.largest = std::max(range.largest, magnitude);
    }
    return range;
}

void check_same(const ValueRange& got, const ValueRange& expected) {
    CHECK(got.count == expected.count);
    CHECK(got.zeros == expected.zeros);
    CHECK(got.nans == expected.nans);
    CHECK(got.infinities == expected.infinities);
    CHECK(got.smallest == expected.smallest);
    CHECK(got.largest == expected.largest);
    for (std::size_t i = 0; i < candidate_formats.size(); ++i) {
        INFO(candidate_formats[i].name);
        CHECK(got.formats[i].overflow == expected.formats[i].overflow);
        CHECK(got.formats[i].subnormal == expected.formats[i].subnormal);
        CHECK(got.formats[i].flushed == expected.formats[i].flushed);
    }
}

}  // namespace

TEST_CASE("formats have the numbers that their standards give them") {
    for (std::size_t i = 0; i < number_formats.size(); ++i) {
        const auto& format = number_formats[i];
        const auto& expected = constants[i];
        INFO(expected.name);
        CHECK(format.name == expected.name);
        CHECK(format.bits == expected.bits);
        CHECK(1 + format.exponent_bits + format.mantissa_bits == format.bits);
        CHECK(format.largest() == expected.largest);
        CHECK(format.smallest_normal() == expected.normal);
        CHECK(format.smallest_subnormal() == expected.subnormal);
        CHECK(format.epsilon() == expected.epsilon);
        CHECK(std::round(format.decimal_digits() * 100) == std::round(expected.digits * 100));
    }
    CHECK(number_formats[0].largest() == static_cast<double>(std::numeric_limits<float>::max()));
    CHECK(number_formats[0].epsilon() == static_cast<double>(std::numeric_limits<float>::epsilon()));
}

TEST_CASE("the largest, smallest and next numbers are those among all codes of a format") {
    for (std::size_t i = 0; i < candidate_formats.size(); ++i) {
        const auto& format = candidate_formats[i];
        INFO(format.name);
        double largest = 0.0, smallest = 1.0, after_one = 2.0;
        bool infinity = false;
        for (const double value : all_values(candidate_types[i])) {
            infinity = infinity || std::isinf(value);
            if (std::isfinite(value)) largest = std::max(largest, value);
            if (value > 0.0) smallest = std::min(smallest, value);
            if (value > 1.0) after_one = std::min(after_one, value);
        }
        CHECK(format.largest() == largest);
        CHECK(format.smallest_subnormal() == smallest);
        CHECK(format.epsilon() == after_one - 1.0);
        CHECK(format.infinity == infinity);
    }
}

TEST_CASE("what is counted is what casts to each format make of the values") {
    const auto values = many_values();
    ValueRange got;
    got.add(tensor_of(values));
    check_same(got, by_casting(values));
}

TEST_CASE("values of every dtype, in any order in memory, count the same") {
    const std::vector<float> values{0.0F, 1.0F, -2.5e-5F, 3e-8F, 60000.0F, 0.5F};
    const auto half = tensor_of(values).to(at::kHalf).view({2, 3});
    ValueRange expected;
    expected.add(half.to(at::kFloat));
    for (const auto& tensor : {half, half.t(), half.to(at::kDouble), half.to(at::kDouble).t()}) {
        ValueRange got;
        got.add(tensor);
        check_same(got, expected);
    }
    ValueRange wide;  // magnitudes that float32 does not have
    auto tiny = at::zeros({2}, at::kDouble);
    tiny.data_ptr<double>()[1] = 1e-300;
    wide.add(tiny);
    CHECK(wide.smallest == 1e-300);
    CHECK(wide.zeros == 1);
    CHECK(wide.formats[1].flushed == 1);
}

TEST_CASE("ranges add up, and what has no values changes nothing") {
    const auto values = many_values();
    const std::vector<float> first(values.begin(), values.begin() + 5000),
        rest(values.begin() + 5000, values.end());
    ValueRange sum, other;
    sum.add(tensor_of(first));
    other.add(tensor_of(rest));
    sum.add(other);
    sum.add(at::zeros({0}, at::kFloat));
    sum.add(at::zeros({4}, at::kLong));
    sum.add(at::Tensor());
    sum.add(ValueRange());
    check_same(sum, by_casting(values));
    ValueRange zeros;
    zeros.add(at::zeros({3}, at::kFloat));
    CHECK_FALSE(zeros.any());
    CHECK(zeros.zeros == 3);
    CHECK(std::isinf(zeros.smallest));
}
