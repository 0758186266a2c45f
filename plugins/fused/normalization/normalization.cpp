#include "normalization.h"

#include <optional>

#include <ATen/ops/empty.h>

#include "common/on_cuda.h"
#include "common/rows.h"
#include "common/serves_cpu.h"
#include "norm_kernels.h"

namespace switchyard {
namespace {

using namespace fused;

enum SavedPlace : std::size_t { saved_sum, saved_weight, saved_statistics };

NormShape norm_shape(const NormalizationParams& params, std::int64_t width, bool reduced) {
    return {width, params.eps, params.norm == NormKind::layer_norm, reduced};
}

// What the low-precision form reads: parameters that have been through the storage dtype.
at::Tensor parameter(const at::Tensor& given, at::ScalarType storage, bool reduced) {
    if (!given.defined() || !reduced) return dense_float(given);
    return dense_float(given.to(storage));
}

at::Tensor empty_like_rows(const at::Tensor& x) { return at::empty(x.sizes(), x.options()); }

template <class T>
void run_forward(NormForward<T> call, const RowShape& shape, const at::Tensor& x, const at::Tensor& residual,
                 const NormalizationOutputs& out) {
    call.x = data_of<T>(x);
    call.residual = data_of<T>(residual);
    call.sum = mutable_data_of<T>(out.sum);
    call.y = mutable_data_of<T>(out.y);
    const auto& kernels = norm_kernels<T>();
    over_rows(shape, [&](std::int64_t begin, std::int64_t end) { kernels.forward(call, begin, end); });
}

// Gradients of the rows, and of the parameters where `sums` has a place for them.
struct BackwardTensors {
    at::Tensor sum, grad_y, grad_sum, weight, statistics;
    at::Tensor grad_x, grad_residual;
    int weight_sums = -1, beta_sums = -1, bias_sums = -1;  // places in RowSums
};

template <class T>
void run_backward(NormBackward<T> call, const BackwardTensors& t, const RowShape& shape, RowSums* sums) {
    call.sum = data_of<T>(t.sum);
    call.grad_y = data_of<T>(t.grad_y);
    call.grad_sum = data_of<T>(t.grad_sum);
    call.weight = data_of<float>(t.weight);
    call.statistics = reinterpret_cast<const RowStatistics*>(data_of<float>(t.statistics));
    call.grad_x = mutable_data_of<T>(t.grad_x);
    call.grad_residual = mutable_data_of<T>(t.grad_residual);
    const auto& kernels = norm_kernels<T>();
    if (sums == nullptr) {
        over_rows(shape, [&](std::int64_t begin, std::int64_t end) { kernels.backward(call, begin, end); });
        return;
    }
    sums->run([&](std::int64_t begin, std::int64_t end, float* of_part) {
        NormBackward<T> part = call;
        const auto place = [&](int at) { return at < 0 ? nullptr : of_part + at * shape.width; };
        part.grad_weight = place(t.weight_sums);
        part.grad_beta = place(t.beta_sums);
        part.grad_bias = place(t.bias_sums);
        kernels.backward(part, begin, end);
    });
}

const char* computes_in(DType storage, bool reduced) {
    if (!reduced || storage == DType::float32) return "fp32";
    return storage == DType::bfloat16 ? "fp32, bf16 stats" : "fp32, fp16 stats";
}

}  // namespace

FusedNormalization::FusedNormalization(const CreateInfo& info, bool reduced)
    : Normalization(info),
      reduced_(reduced),
      computes_in_(computes_in(info.request->dtype, reduced)),
      last_cache_bytes_(info.host == nullptr ? 0 : info.host->l3_bytes),
      on_cuda_(made_on_cuda<Normalization>(info)) {}

Verdict FusedNormalization::supports(const NormalizationRequest& request, const HostInfo& host,
                                     const Options&) {
    Verdict verdict;
    require_storage(verdict, request, host);
    REQUIRE(verdict, request.parameter_dtype == request.dtype || request.parameter_dtype == DType::float32,
            Code::DType, "parameter_dtype", "the dtype of x, or float32", name(request.parameter_dtype));
    REQUIRE(verdict, request.width.min >= 1, Code::Width, "width", "1 or more", request.width);
    return verdict;
}

Verdict LowPrecisionNormalization::supports(const NormalizationRequest& request, const HostInfo& host,
                                            const Options& options) {
    Verdict verdict;
    require_cpu_storage(verdict, request);
    if (!verdict.ok()) return verdict;
    verdict = FusedNormalization::supports(request, host, options);
    REQUIRE(verdict, !request.needs_grad || request.width.min >= 2, Code::Width, "width",
            "2 or more with gradients (that of one value is all cancellation)", request.width);
    const bool centered = request.norm == NormKind::layer_norm;
    REQUIRE(verdict, !centered || request.width.min >= 16, Code::Width, "width",
            "16 or more (a few values may differ by less than their variance in one pass shows)",
            request.width);
    return verdict;
}

NormalizationOutputs FusedNormalization::forward(const NormalizationInputs& inputs,
                                                 const NormalizationParams& params, Saved* saved) {
    if (on_cuda_) return on_cuda_->forward(inputs, params, saved);
    const RowShape shape = row_shape(inputs.x);
    const auto storage = inputs.x.scalar_type();
    const bool wide = inputs.bias.defined() || inputs.residual.defined() || params.dropout.active();
    const at::Tensor x = dense(inputs.x), residual = dense(inputs.residual);
    const at::Tensor bias = parameter(inputs.bias, storage, reduced_);
    const at::Tensor weight = parameter(inputs.weight, storage, reduced_);
    const at::Tensor beta = parameter(inputs.beta, storage, reduced_);
    const auto positions = positions_of(params.dropout, params.tokens, inputs.x.sizes());
    NormalizationOutputs out{empty_like_rows(x), wide ? empty_like_rows(x) : at::Tensor()};
    at::Tensor statistics;
    if (saved != nullptr) statistics = at::empty({shape.rows, 2}, at::TensorOptions().dtype(at::kFloat));

    executed();
    in_storage(storage, [&](auto type) {
        NormForward<decltype(type)> call;
        call.shape = norm_shape(params, shape.width, reduced_);
        call.streams = may_stream({x, residual}, {out.sum, out.y}, shape.width, last_cache_bytes_);
        call.dropout = row_dropout(params.dropout, positions);
        call.bias = data_of<float>(bias);
        call.weight = data_of<float>(weight);
        call.beta = data_of<float>(beta);
        call.statistics = reinterpret_cast<RowStatistics*>(mutable_data_of<float>(statistics));
        run_forward(call, shape, x, residual, out);
    });
    if (saved != nullptr) {
        if (wide) {
            saved->output(out.sum);
        } else {
            saved->input(inputs.x);
        }
        saved->input(inputs.weight);
        saved->extra(statistics);
        const auto type_of = [](const at::Tensor& t) {
            return static_cast<std::int64_t>(t.defined() ? t.scalar_type() : at::kFloat);
        };
        saved->integers = {type_of(inputs.bias), type_of(inputs.beta)};
    }
    return out;
}

NormalizationGrads FusedNormalization::backward(const NormalizationParams& params, const Saved& saved,
                                                const at::Tensor& grad_y, const at::Tensor& grad_sum,
                                                const NormalizationNeeds& needs) {
    if (on_cuda_) return on_cuda_->backward(params, saved, grad_y, grad_sum, needs);
    BackwardTensors t;
    t.sum = dense(saved[saved_sum]);
    t.statistics = saved[saved_statistics];
    t.grad_y = dense(grad_y);
    t.grad_sum = dense(grad_sum);
    const auto storage = t.sum.scalar_type();
    t.weight = parameter(saved[saved_weight], storage, reduced_);
    const RowShape shape = row_shape(t.sum);
    const auto positions = positions_of(params.dropout, params.tokens, t.sum.sizes());
    const bool dropped = params.dropout.active();

    // Without dropout the gradients of x and of the residual are one: the same tensor.
    if (needs.residual || (needs.x && !dropped)) t.grad_residual = empty_like_rows(t.sum);
    if (needs.x && dropped) t.grad_x = empty_like_rows(t.sum);
    int vectors = 0;
    if (needs.weight) t.weight_sums = vectors++;
    if (needs.beta) t.beta_sums = vectors++;
    if (needs.bias) t.bias_sums = vectors++;
    std::optional<RowSums> sums;
    if (vectors > 0) sums.emplace(shape, vectors);

    in_storage(storage, [&](auto type) {
        NormBackward<decltype(type)> call;
        call.shape = norm_shape(params, shape.width, reduced_);
        call.streams = may_stream({t.sum, t.grad_y, t.grad_sum}, {t.grad_x, t.grad_residual}, shape.width,
                                  last_cache_bytes_);
        call.dropout = row_dropout(params.dropout, positions);
        run_backward(call, t, shape, sums ? &*sums : nullptr);
    });

    NormalizationGrads grads;
    if (needs.x) grads.x = dropped ? t.grad_x : t.grad_residual;
    if (needs.residual) grads.residual = t.grad_residual;
    const auto type_at = [&](std::size_t i) { return static_cast<at::ScalarType>(saved.integers.at(i)); };
    if (needs.bias) grads.bias = sums->joined(t.bias_sums, type_at(0));
    if (needs.weight) grads.weight = sums->joined(t.weight_sums, saved[saved_weight].scalar_type());
    if (needs.beta) grads.beta = sums->joined(t.beta_sums, type_at(1));
    return grads;
}

}  // namespace switchyard
