// The linear layers of a model that can be stored in 8 or 4 bits, and what they become.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/quantization_config.h"
#include "core/workbench/model/linear.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/quantize/calibration.h"

namespace switchyard::quantize {

// Those whose weights nothing else reads: not a head whose weight is the embedding table.
std::vector<std::string> quantizable_layers(const std::vector<model::Linear>& linears);

// The weight [out, in] of a layer as `how` stores it. `scales`: of method "static", which has one of `layer`.
QuantizedWeight quantized_weight(const std::string& layer, const at::Tensor& weight,
                                 const config::QuantizationConfig& how, const InputScales& scales);

// Of a model whose `layers` are stored so, but for those of how.skip; the values of all others are shared.
model::Parameters quantized_parameters(const model::Parameters& parameters,
                                       const std::vector<std::string>& layers,
                                       const config::QuantizationConfig& how, const InputScales& scales);

}  // namespace switchyard::quantize
