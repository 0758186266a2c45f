// Weights in 8 or 4 bits in files of weights, under our names of their layers:
//
//     NAME.weight_values       I8 [out, in], or U8 [out, ceil(in / 2)] of 4 bits (QuantizedWeight::values)
//     NAME.weight_scales       F32 [out, groups]
//     NAME.weight_zero_points  F32 [out, groups], with quantization.zero_points
//     NAME.input_scale         F32 [], with quantization.method = "static"
//
// The file's metadata say under `quantization` how they were made, which must be as the configuration has it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/config/quantization_config.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/model/weights/file_tensor.h"
#include "core/workbench/model/weights/tensors.h"

namespace switchyard::model {

inline constexpr const char* quantization_metadata = "quantization";

// "dynamic, groups of 64, zero points".
std::string quantization_text(const config::QuantizationConfig& how);

// Those of all quantized layers, which have their tensors.
std::vector<NamedTensor> quantized_tensors(const Parameters& parameters);

// Reads them: `take` each tensor of the files that `is_quantized_tensor`, then `problems`, and `set` where
// there are none.
class QuantizedLoading {
public:
    QuantizedLoading(const config::QuantizationConfig& how, const Parameters& parameters)
        : how_(how), parameters_(parameters) {}

    static bool is_quantized_tensor(std::string_view name);
    void take(const FileTensor& tensor) { taken_.emplace(tensor.name, tensor); }
    // All that is wrong, each naming `file`; looks at every value. `made`: what the metadata say.
    std::vector<std::string> problems(const std::string& file, const std::string& made);
    void set() const;

private:
    QuantizedWeight read(const QuantizedLayer& layer);
    at::Tensor find(const std::string& name);
    std::string strangers() const;

    const config::QuantizationConfig& how_;
    const Parameters& parameters_;
    std::map<std::string, FileTensor> taken_;
    std::map<std::string, QuantizedWeight> read_;  // by layer
};

}  // namespace switchyard::model
