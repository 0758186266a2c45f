// What the blocks of GGUF stand for, against ggml's own package (tests/fixtures/make_gguf.py).
// To add a type: a case in make_blocks() there.
#include "core/workbench/gguf/blocks.h"

#include <cmath>
#include <vector>

#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

const gguf::TensorType& type_of(const test::FixtureCase& one) {
    const auto* const type = gguf::find_tensor_type(one.numbers["number"].get<std::uint32_t>());
    REQUIRE(type != nullptr);
    CHECK(type->name == one.name);
    return *type;
}

const std::byte* bytes_of(const at::Tensor& bytes) {
    return reinterpret_cast<const std::byte*>(bytes.const_data_ptr());
}

std::vector<float> dequantized(const test::FixtureCase& one) {
    std::vector<float> values(static_cast<std::size_t>(one["values"].numel()));
    gguf::dequantize(type_of(one), bytes_of(one["bytes"]), values);
    return values;
}

bool is_case_of_type(const test::FixtureCase& one) { return one.name != "sizes"; }

}  // namespace

TEST_CASE("blocks of every type that is read are the numbers that ggml's package reads") {
    std::size_t types = 0;
    for (const auto& one : test::load_fixture("gguf_blocks")) {
        if (!is_case_of_type(one)) continue;
        INFO(one.name);
        CHECK(type_of(one).readable);
        ++types;
        const auto values = dequantized(one);
        const auto* const expected = one["values"].const_data_ptr<float>();
        float worst = 0.0F;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const float allowed = 4e-7F * std::max(1.0F, std::abs(expected[i]));
            worst = std::max(worst, std::abs(values[i] - expected[i]) / allowed);
        }
        CHECK(worst <= 1.0F);
    }
    CHECK(types == 8);
}

TEST_CASE("types have the numbers and sizes that ggml's package gives them") {
    for (const auto& one : test::load_fixture("gguf_blocks")) {
        if (is_case_of_type(one)) continue;
        for (const auto& [name, sizes] : one.numbers["sizes"].items()) {
            INFO(name);
            const auto* const type = gguf::find_tensor_type(sizes[0].get<std::uint32_t>());
            if (type == nullptr) continue;  // newer than the specification
            CHECK(type->name == name);
            CHECK(type->elements == sizes[1].get<std::uint32_t>());
            CHECK(type->bytes == sizes[2].get<std::uint32_t>());
        }
    }
    CHECK(gguf::readable_types() == "F32, F16, Q4_0, Q4_1, Q8_0, Q4_K, Q6_K, BF16");
}

TEST_CASE("values, scales and zero points of groups give the dequantized numbers again") {
    std::size_t types = 0;
    for (const auto& one : test::load_fixture("gguf_blocks")) {
        if (!is_case_of_type(one)) continue;
        const auto& type = type_of(one);
        const auto* const groups = gguf::groups_of(type);
        if (groups == nullptr) continue;
        INFO(one.name);
        ++types;
        const auto expected = dequantized(one);
        const auto count = expected.size() / gguf::QuantizedGroups::size;
        std::vector<std::int8_t> values(expected.size());
        std::vector<float> scales(count), zero_points(groups->has_zero_points ? count : 0);
        gguf::split_groups(type, bytes_of(one["bytes"]), values, scales, zero_points);
        const int least = -(1 << (groups->bits - 1));
        bool within = true, same = true;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto group = i / gguf::QuantizedGroups::size;
            within = within && values[i] >= least && values[i] < -least;
            const float zero = groups->has_zero_points ? zero_points[group] : 0.0F;
            const float found = scales[group] * (static_cast<float>(values[i]) - zero);
            same = same && std::abs(found - expected[i]) <= 1e-5F;
        }
        CHECK(within);
        CHECK(same);
    }
    CHECK(types == 3);
}

TEST_CASE("float16 is read exactly: subnormal, infinite and negative zero too") {
    const auto* const f16 = gguf::find_tensor_type(1);
    const auto value = [&](std::uint16_t bits) {
        float read = 1.0F;
        gguf::dequantize(*f16, reinterpret_cast<const std::byte*>(&bits), {&read, 1});
        return read;
    };
    CHECK(value(0x3C00) == 1.0F);
    CHECK(value(0xC000) == -2.0F);
    CHECK(value(0x7BFF) == 65504.0F);
    CHECK(value(0x0400) == std::ldexp(1.0F, -14));
    CHECK(value(0x0001) == std::ldexp(1.0F, -24));
    CHECK(value(0x83FF) == -std::ldexp(1023.0F, -24));
    CHECK(std::signbit(value(0x8000)));
    CHECK(value(0x7C00) == HUGE_VALF);
    CHECK(std::isnan(value(0x7E00)));
}
