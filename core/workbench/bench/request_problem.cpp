#include "core/workbench/bench/request_problem.h"

#include <algorithm>
#include <stdexcept>

#include "core/kernel/base/number_text.h"

namespace switchyard::bench {
namespace {

// What a call may take, of a CPU. A device has done it before its launch counts for little.
struct Most {
    std::int64_t products = std::int64_t{1} << 30;  // multiplications of one call
    std::int64_t values = std::int64_t{1} << 21;    // of one tensor
};
Most most_of(Device device) {
    return device == Device::cpu ? Most() : Most{std::int64_t{1} << 35, std::int64_t{1} << 23};
}

// As many as fit, but what the request asks for at the least. `what` they are, where they are fewer.
std::int64_t cut(Range range, std::int64_t most, const std::string& what, RequestProblem& problem) {
    const auto largest = std::max<std::int64_t>(range.max, 1);
    const auto left = std::clamp(most, std::min(std::max<std::int64_t>(range.min, 1), largest), largest);
    if (left < largest) problem.sample = std::to_string(left) + " " + what;
    return left;
}

std::int64_t fitting(std::int64_t budget, std::int64_t each) {
    return std::max<std::int64_t>(budget / std::max<std::int64_t>(each, 1), 1);
}

void fill(const AttentionRequest& request, RequestProblem& problem) {
    auto& settings = problem.settings;
    auto& shape = problem.shape;
    const auto masks = request.masks;
    shape.heads = request.heads.max;
    shape.kv_heads = request.kv_heads.max;
    shape.head_dim = request.head_dim.max;
    shape.q_length = std::max<std::int64_t>(request.q_length.max, 1);
    shape.kv_length = std::max<std::int64_t>(request.kv_length.max, 1);
    const std::int64_t products = request.needs_grad ? 7 : 2;
    const auto of_sequence = products * shape.heads * shape.q_length * shape.kv_length * shape.head_dim;
    shape.batch =
        cut(request.batch, fitting(most_of(request.device).products, of_sequence), "sequences", problem);

    const bool packed = request.layout == Layout::packed;
    const bool drawn = packed ? !request.kv_length.single() && shape.q_length == shape.kv_length
                              : masks.has(MaskKind::key_lengths);
    settings.query_offsets = request.query_offsets;
    settings.custom_scale = request.custom_scale;
    // Rows that are told where their queries stand hold them.
    const std::int64_t fewest = request.query_offsets ? std::min(shape.q_length, shape.kv_length) : 1;
    if (drawn) settings.lengths = {std::max(request.kv_length.min, fewest), shape.kv_length};
    settings.causal = masks.has(MaskKind::causal);
    settings.alibi = masks.has(MaskKind::alibi);
    settings.dense_bias = masks.has(MaskKind::dense_bias);
    settings.dropout = request.dropout;
    if (masks.has(MaskKind::sliding_window)) settings.window = fitting(shape.kv_length, 4);
    if (masks.has(MaskKind::prefix)) settings.prefix = fitting(shape.kv_length, 8);
    if (masks.has(MaskKind::relative_bias)) settings.relative_buckets = 32;
    if (masks.has(MaskKind::soft_cap)) settings.soft_cap = 30.0;
}

void fill(const NormalizationRequest& request, RequestProblem& problem) {
    auto& settings = problem.settings;
    settings.norm = request.norm;
    settings.parameter_dtype = request.parameter_dtype;
    settings.affine_bias = request.affine_bias;
    settings.bias = request.input_bias;
    settings.residual = request.residual;
    settings.dropout = request.dropout;
    problem.shape.width = request.width.max;
    problem.shape.rows =
        cut(request.rows, fitting(most_of(request.device).values, request.width.max), "rows", problem);
}

void fill(const ActivationRequest& request, RequestProblem& problem) {
    auto& settings = problem.settings;
    settings.activation = request.activation;
    settings.bias = request.input_bias;
    settings.dropout = request.dropout;
    problem.shape.width = request.width.max;
    problem.shape.rows =
        cut(request.rows, fitting(most_of(request.device).values, request.width.max), "rows", problem);
}

void fill(const LossRequest& request, RequestProblem& problem) {
    auto& settings = problem.settings;
    auto& shape = problem.shape;
    settings.label_smoothing = request.label_smoothing;
    settings.z_loss = request.z_loss;
    settings.projection_bias = request.projection_bias;
    settings.in_place = request.may_overwrite_logits && !request.projection;
    shape.classes = std::max<std::int64_t>(request.classes.max, 2);
    shape.width = request.projection ? request.width.max : 0;
    const auto products = 3 * shape.classes * std::max<std::int64_t>(shape.width, 1);
    const auto most = most_of(request.device);
    shape.rows =
        cut(request.rows, std::min(fitting(most.products, products), fitting(2 * most.values, shape.classes)),
            "rows", problem);
}

// More rows than of the others: what is done once a step, whatever the rows, would count for too much.
void fill(const LinearRequest& request, RequestProblem& problem) {
    problem.settings.parameter_dtype = request.weight_dtype;
    problem.settings.bias = request.bias;
    problem.shape.in = request.in;
    problem.shape.out = request.out;
    const auto products = (request.needs_grad ? 3 : 1) * request.in * request.out;
    const auto most = most_of(request.device);
    problem.shape.rows = cut(request.rows,
                             std::min(fitting(4 * most.products, products),
                                      fitting(4 * most.values, std::max(request.in, request.out))),
                             "rows", problem);
}

void fill(const OptimizerRequest& request, RequestProblem& problem) {
    problem.pass = Pass::step;
    problem.settings.algorithm = request.algorithm;
    problem.settings.max_grad_norm = request.clip ? 1.0 : 0.0;
    problem.settings.unscale = request.unscale;
    const std::int64_t scale = request.device == Device::cpu ? 1 : 4;
    const std::int64_t side = scale * (request.algorithm == OptimizerKind::muon ? 256 : 512);
    problem.shape.tensors.assign(8, {side, side});
    problem.shape.tensors.insert(problem.shape.tensors.end(), 12, {side});
    problem.sample = base::counted(problem.shape.tensors.size(), "tensor") + " of " +
                     base::digits(static_cast<double>(problem.shape.values()) / 1e6, 2) +
                     " million values, whatever the model has";
}

}  // namespace

RequestProblem problem_of(Kind kind, const Request& request) {
    RequestProblem problem;
    problem.settings.kind = kind;
    problem.settings.layout = request.layout;
    problem.settings.device = request.device;
    problem.dtype = request.dtype;
    problem.pass = request.needs_grad ? Pass::forward_backward : Pass::forward;
    visit(kind, [&]<class Traits>(Traits) {
        if constexpr (Traits::facts.measured)
            fill(Traits::request(request), problem);
        else
            throw std::invalid_argument("a " + std::string(name(kind)) + " cannot be timed");
    });
    return problem;
}

}  // namespace switchyard::bench
