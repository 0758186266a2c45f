#include "core/workbench/quantize/calibration.h"

#include <algorithm>
#include <string_view>

#include <ATen/ops/cat.h>

namespace switchyard::quantize {

void LayerInputs::observe(const runtime::ObservedCall& call) {
    if (call.call != std::string_view("linear.forward") || call.inputs.empty()) return;
    const auto& x = call.inputs.front().value;
    if (x.numel() == 0) return;
    const std::string layer(call.place);
    if (counted_) magnitudes_[layer].add(x);
    auto& kept = rows_[layer];
    const auto before = kept.defined() ? kept.size(0) : 0;
    if (before >= most_rows_) return;
    auto rows = x.detach().reshape({-1, x.size(-1)});
    rows = rows.narrow(0, 0, std::min(rows.size(0), most_rows_ - before)).to(at::kFloat).clone();
    kept = before == 0 ? rows : at::cat({kept, rows});
}

InputScales input_scales(const std::map<std::string, Magnitudes>& magnitudes, const Calibration& how) {
    constexpr double largest_integer = 127.0;
    InputScales scales;
    for (const auto& [layer, found] : magnitudes) {
        const double range = found.range(how.rule, how.percent);
        scales[layer] = range > 0.0 ? range / largest_integer : 1.0;
    }
    return scales;
}

}  // namespace switchyard::quantize
