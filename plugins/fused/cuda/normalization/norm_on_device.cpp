#include "norm_on_device.h"

#include <algorithm>

#include "cuda/common/parts.h"
#include "norm_launch.h"

namespace switchyard::fused_cuda {
namespace {

enum SavedOfNorm : std::size_t { saved_normed, saved_gain, saved_statistics };

constexpr std::size_t sum_bytes = 256;  // RowSum's

at::Tensor empty_like_rows(const at::Tensor& x) { return at::empty(x.sizes(), x.options()); }

NormCall call_for(const NormalizationParams& params, const at::Tensor& rows) {
    NormCall call;
    call.width = rows.size(-1);
    call.rows = call.width == 0 ? 0 : rows.numel() / call.width;
    call.eps = static_cast<float>(params.eps);
    call.centered = params.norm == NormKind::layer_norm;
    call.storage = storage_of(rows.scalar_type());
    return call;
}

std::int64_t blocks_for(const NormCall& call, std::int64_t most) {
    const std::int64_t of_block = norm_rows_of_block(call.width);
    return std::min((call.rows + of_block - 1) / of_block, most);
}

void check_device(const at::Tensor& x, const at::Tensor& weight) {
    TORCH_CHECK_VALUE(weight.device() == x.device(), "normalization: weight is on ", weight.device(),
                      ", x on ", x.device());
}

std::int64_t type_of(const at::Tensor& t) {
    return static_cast<std::int64_t>(t.defined() ? t.scalar_type() : at::kFloat);
}

// Of the gradients that are wanted; two are one tensor where there is no dropout.
struct RowGradients {
    at::Tensor x, residual;
};

}  // namespace

NormalizationOutputs normalize(const NormalizationInputs& inputs, const NormalizationParams& params,
                               Saved* saved, const device::Queue& queue) {
    check_device(inputs.x, inputs.weight);
    const bool wide = inputs.bias.defined() || inputs.residual.defined() || params.dropout.active();
    const at::Tensor x = dense(inputs.x), residual = dense(inputs.residual);
    const at::Tensor bias = parameter(inputs.bias), weight = parameter(inputs.weight),
                     beta = parameter(inputs.beta);
    NormalizationOutputs out{empty_like_rows(x), wide ? empty_like_rows(x) : at::Tensor()};
    NormCall call = call_for(params, x);
    at::Tensor statistics, offsets;
    if (saved != nullptr) statistics = at::empty({call.rows, 2}, x.options().dtype(at::kFloat));
    call.dropout = dropout_of(params.dropout, params.tokens, x, offsets);
    call.bias = vector_of(bias), call.weight = vector_of(weight), call.beta = vector_of(beta);
    call.x = data_of(x), call.residual = data_of(residual);
    call.sum = mutable_data_of(out.sum), call.y = mutable_data_of(out.y);
    call.statistics = static_cast<RowStatistics*>(mutable_data_of(statistics));
    call.aligned = call.width % 8 == 0 && all_aligned({call.x, call.residual, call.sum, call.y,
                                                       call.bias.data, call.weight.data, call.beta.data});
    launch_norm_forward(call, {blocks_for(call, 16 * queue.multiprocessors), norm_threads, sum_bytes},
                        queue.stream);
    if (saved != nullptr) {
        wide ? saved->output(out.sum) : saved->input(inputs.x);
        saved->input(inputs.weight);
        saved->extra(statistics);
        saved->integers = {type_of(inputs.bias), type_of(inputs.beta)};
    }
    return out;
}

NormalizationGrads normalize_backward(const NormalizationParams& params, const Saved& saved,
                                      const at::Tensor& grad_y, const at::Tensor& grad_sum,
                                      const NormalizationNeeds& needs, const device::Queue& queue) {
    const at::Tensor normed = dense(saved[saved_normed]), dy = dense(grad_y), dsum = dense(grad_sum);
    const at::Tensor weight = parameter(saved[saved_gain]), statistics = saved[saved_statistics];
    NormCall call = call_for(params, normed);
    const bool dropped = params.dropout.active();
    RowGradients rows;
    if (needs.residual || (needs.x && !dropped)) rows.residual = empty_like_rows(normed);
    if (needs.x && dropped) rows.x = empty_like_rows(normed);
    at::Tensor offsets;
    call.dropout = dropout_of(params.dropout, params.tokens, normed, offsets);
    call.statistics = static_cast<RowStatistics*>(mutable_data_of(statistics));
    call.weight = vector_of(weight);
    call.normed = data_of(normed), call.grad_y = data_of(dy), call.grad_sum = data_of(dsum);
    call.grad_residual = mutable_data_of(rows.residual), call.grad_x = mutable_data_of(rows.x);
    call.aligned = call.width % 8 == 0 && all_aligned({call.normed, call.grad_y, call.grad_sum,
                                                       call.weight.data, call.grad_residual, call.grad_x});
    Parts parts;
    const auto type_at = [&](std::size_t i) { return static_cast<at::ScalarType>(saved.integers.at(i)); };
    if (needs.weight) call.weight_sums = parts.add(saved[saved_gain].scalar_type());
    if (needs.beta) call.beta_sums = parts.add(type_at(1));
    if (needs.bias) call.bias_sums = parts.add(type_at(0));
    const std::int64_t blocks = blocks_for(call, 2 * queue.multiprocessors);
    call.vectors = parts.vectors();
    call.parts = parts.reserve(blocks, call.width, normed.device());
    const bool joins = call.width <= norm_warp_width;
    const std::size_t joined_bytes = joins ? 3 * static_cast<std::size_t>(call.width) * sizeof(float) : 0;
    launch_norm_backward(call, {blocks, norm_threads, sum_bytes + joined_bytes}, queue.stream);

    const auto sums = parts.joined(queue);
    const auto sum_at = [&](int place) { return sums[static_cast<std::size_t>(place)]; };
    NormalizationGrads grads;
    if (needs.x) grads.x = dropped ? rows.x : rows.residual;
    if (needs.residual) grads.residual = rows.residual;
    if (needs.weight) grads.weight = sum_at(call.weight_sums);
    if (needs.beta) grads.beta = sum_at(call.beta_sums);
    if (needs.bias) grads.bias = sum_at(call.bias_sums);
    return grads;
}

}  // namespace switchyard::fused_cuda
