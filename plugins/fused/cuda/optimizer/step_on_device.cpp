#include "step_on_device.h"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_strided.h>

#include "optimizer/newton_schulz.h"

namespace switchyard::fused_cuda {
namespace {

Rule rule_of(OptimizerKind algorithm, const at::Tensor& value) {
    switch (algorithm) {
        case OptimizerKind::adam:
            return Rule::adam;
        case OptimizerKind::sgd:
            return Rule::sgd;
        case OptimizerKind::lion:
            return Rule::lion;
        case OptimizerKind::lamb:
            return Rule::lamb;
        case OptimizerKind::muon:
            return fused::is_muon_matrix(algorithm, value) ? Rule::muon : Rule::adamw;
        default:
            return Rule::adamw;
    }
}

at::Tensor matrix_of(const at::Tensor& direction) { return direction.reshape({direction.size(0), -1}); }

// Of each matrix, into the place of its direction. The norm stays on the device.
void orthogonalize(const at::Tensor& direction, const at::Tensor& inverse_norm) {
    const at::Tensor unit = matrix_of(direction) * inverse_norm;
    direction.copy_(fused::newton_schulz(unit, 1.0).reshape(direction.sizes()));
}

}  // namespace

StepOnDevice::StepOnDevice(const CreateInfo& info)
    : StepWithMoments("fused", optimizer_request(info),
                      fused::MomentState(optimizer_request(info).algorithm)) {}

void StepOnDevice::describe(const StepTensor& from, device::TensorOfStep& to,
                            std::vector<at::Tensor>& directions) const {
    const at::Tensor& value = from.parameter->value;
    const auto& own = moments_[from.index];
    const Rule rule = rule_of(algorithm_, value);
    to.rule = static_cast<std::uint8_t>(rule);
    to.first = device::place_of(own.first);
    to.second = device::place_of(own.second);
    at::Tensor direction;
    if (rule == Rule::muon && from.count > 0) {
        direction = at::empty_strided(value.sizes(), value.strides(), value.options().dtype(at::kFloat));
        to.second = device::place_of(direction);
        const auto rows = static_cast<double>(value.size(0));
        to.trust =
            static_cast<float>(std::sqrt(std::max(1.0, rows * rows / static_cast<double>(from.count))));
    }
    directions.push_back(direction);
}

StepResult StepOnDevice::step(const std::vector<ParameterGroup>& groups, const StepParams& params,
                              const device::Queue& queue) {
    std::vector<at::Tensor> directions;  // of Muon's matrices
    const auto begun = begin(
        groups, params, queue,
        [&](const StepTensor& from, device::TensorOfStep& to) { describe(from, to, directions); },
        launch_norm);
    const auto& table = begun.call.table;
    const auto geometry = device::optimizer_launch(table.piece_count, queue, step_shared_bytes);
    if (algorithm_ != OptimizerKind::lamb && algorithm_ != OptimizerKind::muon) {
        launch_step(begun.call, {}, true, geometry, queue.stream);
        return begun.result;
    }
    const auto options = at::TensorOptions().device(where());
    const at::Tensor sums =
        at::empty({std::max<std::int64_t>(table.piece_count, 1), 2}, options.dtype(at::kDouble));
    const at::Tensor factors =
        at::empty({std::max<std::int64_t>(table.tensor_count, 1)}, options.dtype(at::kFloat));
    const WholeTensors whole{sums.mutable_data_ptr<double>(), factors.mutable_data_ptr<float>()};
    launch_step(begun.call, whole, false, geometry, queue.stream);
    for (std::size_t i = 0; i < directions.size(); ++i) {
        if (directions[i].defined())
            orthogonalize(directions[i], factors.select(0, static_cast<std::int64_t>(i)));
    }
    launch_second_step(begun.call, whole, geometry, queue.stream);
    return begun.result;
}

}  // namespace switchyard::fused_cuda
