// [quantization]: linear layers whose weights a file stores in 8 or 4 bits (interfaces/linear.h:
// QuantizedWeight).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>

namespace switchyard::config {

// none: no layer is stored so. The others are named after the components of `linear` that serve them.
enum class QuantizationMethod : std::uint8_t { none, dynamic, fixed, weight_int8, weight_int4 };

struct QuantizationConfig {
    QuantizationMethod method = QuantizationMethod::none;
    std::int64_t group = 0;    // columns of a weight that share a scale, a multiple of 16; 0: all of a row
    bool zero_points = false;  // each group has a zero point beside its scale
    std::vector<std::string> skip;                  // patterns of linear layers that are stored as floats
    std::vector<std::string> skip_backend{"auto"};  // who multiplies these

    bool operator==(const QuantizationConfig&) const = default;
    bool given() const { return method != QuantizationMethod::none; }
    std::int64_t bits() const { return method == QuantizationMethod::weight_int4 ? 4 : 8; }
    InputQuantization inputs() const {
        if (method == QuantizationMethod::dynamic) return InputQuantization::dynamic;
        return method == QuantizationMethod::fixed ? InputQuantization::fixed : InputQuantization::none;
    }
    // Of a weight that another module stores as floats, a head that is the embedding table. Four bits are too
    // few for it, since it names the next token by the largest of close values.
    QuantizationMethod method_of_floats() const {
        return method == QuantizationMethod::weight_int4 ? QuantizationMethod::weight_int8 : method;
    }
};

}  // namespace switchyard::config

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 5> names<config::QuantizationMethod>{
    "none", "dynamic", "static", "weight_int8", "weight_int4"};
}  // namespace switchyard
