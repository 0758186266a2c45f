#include "activation_on_device.h"

#include <algorithm>

#include "activation_launch.h"
#include "cuda/common/parts.h"

namespace switchyard::fused_cuda {
namespace {

bool saves_result(ActivationKind kind) { return kind == ActivationKind::relu; }

// `x`: the input, or a relu's result.
ActivationCall call_for(const ActivationParams& params, const at::Tensor& x) {
    ActivationCall call;
    call.curve = fused::curve_of(params.activation);
    call.gated = is_gated(params.activation);
    const std::int64_t columns = x.size(-1);
    call.width = call.gated ? columns / 2 : columns;
    call.rows = columns == 0 ? 0 : x.numel() / columns;
    call.storage = storage_of(x.scalar_type());
    call.x = data_of(x);
    return call;
}

// As many parts as give every multiprocessor `warps` of them; 0 blocks where there is nothing to do.
device::Launch geometry_for(ActivationCall& call, std::int64_t warps, const device::Queue& queue) {
    const std::int64_t tiles = activation_tiles(call.width);
    if (call.rows == 0 || tiles == 0) return {0, activation_threads, 0};
    call.parts = std::clamp<std::int64_t>(warps * queue.multiprocessors / tiles, 1, call.rows);
    constexpr std::int64_t of_block = activation_threads / 32;
    return {(call.parts * tiles + of_block - 1) / of_block, activation_threads, 0};
}

}  // namespace

at::Tensor activate(const ActivationInputs& inputs, const ActivationParams& params, Saved* saved,
                    const device::Queue& queue) {
    const at::Tensor x = dense(inputs.x), bias = parameter(inputs.bias);
    ActivationCall call = call_for(params, x);
    auto sizes = x.sizes().vec();
    sizes.back() = call.width;
    const at::Tensor y = at::empty(sizes, x.options());
    at::Tensor offsets;
    call.dropout = dropout_of(params.dropout, params.tokens, x, offsets);
    call.bias = vector_of(bias);
    call.y = mutable_data_of(y);
    call.aligned = call.width % 8 == 0 && all_aligned({call.x, call.y, call.bias.data});
    const auto geometry = geometry_for(call, 64, queue);
    launch_activation_forward(call, geometry, queue.stream);
    if (saved == nullptr) return y;
    if (saves_result(params.activation)) {
        saved->output(y);
    } else {
        saved->input(inputs.x);
        saved->input(inputs.bias);
    }
    saved->integers = {static_cast<std::int64_t>(bias.defined() ? inputs.bias.scalar_type() : at::kFloat)};
    return y;
}

ActivationGrads activate_backward(const ActivationParams& params, const Saved& saved,
                                  const at::Tensor& grad_y, const ActivationNeeds& needs,
                                  const device::Queue& queue) {
    const bool by_result = saves_result(params.activation);
    const at::Tensor kept = dense(saved[0]), dy = dense(grad_y);
    const at::Tensor bias = by_result ? at::Tensor() : parameter(saved[1]);
    ActivationCall call = call_for(params, kept);
    ActivationGrads grads;
    if (needs.x) grads.x = at::empty(kept.sizes(), kept.options());
    at::Tensor offsets;
    call.dropout = dropout_of(params.dropout, params.tokens, kept, offsets);
    call.by_result = by_result;
    call.bias = vector_of(bias);
    call.grad_y = data_of(dy);
    call.grad_x = mutable_data_of(grads.x);
    call.aligned = call.width % 8 == 0 && all_aligned({call.x, call.grad_y, call.grad_x, call.bias.data});
    const auto geometry = geometry_for(call, 32, queue);
    Parts parts;
    if (needs.bias) {
        parts.add(static_cast<at::ScalarType>(saved.integers.at(0)));
        call.bias_parts = parts.reserve(geometry.blocks == 0 ? 0 : call.parts, kept.size(-1), kept.device());
    }
    launch_activation_backward(call, geometry, queue.stream);
    if (needs.bias) grads.bias = parts.joined(queue)[0];
    return grads;
}

}  // namespace switchyard::fused_cuda
