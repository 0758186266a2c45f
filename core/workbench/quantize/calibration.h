// What the linear layers of a model get while it runs on data: the numbers that calibration goes by.
//
//     LayerInputs inputs(256, true);
//     { const runtime::ObserveCalls observing(inputs); run the model on data; }
//     input_scales(inputs.magnitudes(), {RangeRule::percentile, 99.99});
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "core/kernel/runtime/call_observer.h"
#include "core/workbench/quantize/magnitudes.h"

namespace switchyard::quantize {

class LayerInputs final : public runtime::CallObserver {
public:
    // `most_rows`: of each layer that are kept whole, the first that came. `counted`: whether magnitudes are.
    LayerInputs(std::int64_t most_rows, bool counted) : most_rows_(most_rows), counted_(counted) {}

    void observe(const runtime::ObservedCall& call) override;

    const std::map<std::string, Magnitudes>& magnitudes() const { return magnitudes_; }
    // float32 [rows, in], by layer.
    const std::map<std::string, at::Tensor>& rows() const { return rows_; }

private:
    std::int64_t most_rows_;
    bool counted_;
    std::map<std::string, Magnitudes> magnitudes_;
    std::map<std::string, at::Tensor> rows_;
};

struct Calibration {
    RangeRule rule = RangeRule::percentile;
    double percent = 99.99;
};

// By layer what one step of 8 bits is worth (QuantizedWeight::input_scale): the range / 127, or 1 for inputs
// that were 0 throughout.
using InputScales = std::map<std::string, double>;
InputScales input_scales(const std::map<std::string, Magnitudes>& magnitudes, const Calibration& how);

}  // namespace switchyard::quantize
