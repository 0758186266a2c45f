#include "core/workbench/gguf/tensor_type.h"

#include <algorithm>
#include <array>

#include "core/kernel/base/joined.h"

namespace switchyard::gguf {
namespace {

constexpr std::array types{TensorType{0, "F32", 1, 4, true},
                           TensorType{1, "F16", 1, 2, true},
                           TensorType{2, "Q4_0", 32, 18, true},
                           TensorType{3, "Q4_1", 32, 20, true},
                           TensorType{6, "Q5_0", 32, 22},
                           TensorType{7, "Q5_1", 32, 24},
                           TensorType{8, "Q8_0", 32, 34, true},
                           TensorType{9, "Q8_1", 32, 40},
                           TensorType{10, "Q2_K", 256, 84},
                           TensorType{11, "Q3_K", 256, 110},
                           TensorType{12, "Q4_K", 256, 144, true},
                           TensorType{13, "Q5_K", 256, 176},
                           TensorType{14, "Q6_K", 256, 210, true},
                           TensorType{15, "Q8_K", 256, 292},
                           TensorType{16, "IQ2_XXS", 256, 66},
                           TensorType{17, "IQ2_XS", 256, 74},
                           TensorType{18, "IQ3_XXS", 256, 98},
                           TensorType{19, "IQ1_S", 256, 50},
                           TensorType{20, "IQ4_NL", 32, 18},
                           TensorType{21, "IQ3_S", 256, 110},
                           TensorType{22, "IQ2_S", 256, 82},
                           TensorType{23, "IQ4_XS", 256, 136},
                           TensorType{24, "I8", 1, 1},
                           TensorType{25, "I16", 1, 2},
                           TensorType{26, "I32", 1, 4},
                           TensorType{27, "I64", 1, 8},
                           TensorType{28, "F64", 1, 8},
                           TensorType{29, "IQ1_M", 256, 56},
                           TensorType{30, "BF16", 1, 2, true},
                           TensorType{34, "TQ1_0", 256, 54},
                           TensorType{35, "TQ2_0", 256, 66},
                           TensorType{39, "MXFP4", 32, 17}};

}  // namespace

const TensorType* find_tensor_type(std::uint32_t number) {
    const auto found =
        std::find_if(types.begin(), types.end(), [&](const auto& type) { return type.number == number; });
    return found == types.end() ? nullptr : &*found;
}

std::string readable_types() {
    std::string list;
    for (const auto& type : types) {
        if (type.readable) base::add_item(list, type.name);
    }
    return list;
}

}  // namespace switchyard::gguf
