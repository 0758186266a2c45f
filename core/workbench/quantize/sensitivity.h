// What quantization costs a model's linear layers, each for itself.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/workbench/quantize/layers.h"

namespace switchyard::quantize {

// By layer: the root mean square of what quantization changes of the layer's output, over that of the output,
// on `rows` (float32 [rows, in]); of the weight itself where there are no rows of that layer.
std::map<std::string, double> sensitivities(const model::Parameters& parameters,
                                            const std::vector<std::string>& layers,
                                            const config::QuantizationConfig& how, const InputScales& scales,
                                            const std::map<std::string, at::Tensor>& rows);

}  // namespace switchyard::quantize
