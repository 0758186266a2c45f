#include "core/workbench/train/utilization.h"

#include "core/workbench/model/step_flops.h"

namespace switchyard::train {

std::optional<double> Utilization::of(const model::Work& work, double seconds) const {
    if (!costs || !peak || peak->flops_per_second <= 0.0 || seconds <= 0.0) return std::nullopt;
    return model::total(work, *costs) / seconds / peak->flops_per_second;
}

}  // namespace switchyard::train
