// Normalization and activation: rows of hidden states, bound by memory. The rows are the positions of one
// sequence.
//
// Legend:  1RW [1, rows, width]
#include <ATen/TensorOperators.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/silu.h>

#include <switchyard/reference/activation.h>
#include <switchyard/reference/normalization.h>
#include "core/kernel/runtime/operations/activation_op.h"
#include "core/kernel/runtime/operations/bind.h"
#include "core/kernel/runtime/operations/normalization_op.h"
#include "core/workbench/bench/bench_tensors.h"

namespace switchyard::bench {

namespace {

// What both kinds share: inputs, dropout, and how often a value is read or written.
class RowCase : public BenchCase {
public:
    RowCase(const BenchSettings& settings, const BenchShape& shape, DType dtype)
        : settings_(settings), rows_(shape.rows), width_(shape.width), dtype_(dtype) {}

    CheckedTensors reference(Pass pass, DType dtype, bool dropout) final {
        const TensorCall call(reference_function(dropout), in_dtype(inputs_, dtype_, dtype), grad_outputs_,
                              pass);
        return call.results(output_names_);
    }

    std::function<void()> bare(Pass pass) final {
        return [call = TensorCall(bare_function(), inputs_, grad_outputs_, pass)] { call.run(); };
    }

protected:
    virtual TensorFunction reference_function(bool dropout) const = 0;
    virtual TensorFunction bare_function() const = 0;

    at::Tensor rows_of(std::int64_t width, std::uint32_t stream) const {
        return random_normal({1, rows_, width}, dtype_, settings_.seed, stream);
    }
    at::Tensor parameter(std::int64_t width, std::uint32_t stream, double scale, double shift) const {
        return random_normal({width}, settings_.parameter_dtype, settings_.seed, stream, scale).add_(shift);
    }
    Dropout dropout(bool on) const { return {on ? settings_.dropout : 0.0, settings_.seed}; }
    double bytes_of(std::int64_t width, int times) const {
        return static_cast<double>(times * rows_ * width * size_of(dtype_));
    }

    BenchSettings settings_;
    std::int64_t rows_;
    std::int64_t width_;
    DType dtype_;
    std::vector<NamedInput> inputs_;
    std::vector<at::Tensor> grad_outputs_;
    std::vector<std::string> output_names_;
};

class NormalizationCase final : public RowCase {
public:
    NormalizationCase(const BenchSettings& settings, const BenchShape& shape, DType dtype)
        : RowCase(settings, shape, dtype) {
        const bool beta = has_beta();
        inputs_ = {{"x", rows_of(width_, 0)},
                   {"bias", settings.bias ? parameter(width_, 1, 0.5, 0.0) : at::Tensor()},
                   {"residual", settings.residual ? rows_of(width_, 2) : at::Tensor()},
                   {"weight", parameter(width_, 3, 0.1, 1.0)},
                   {"beta", beta ? parameter(width_, 4, 0.1, 0.0) : at::Tensor()}};
        grad_outputs_ = {rows_of(width_, 5), rows_of(width_, 6)};
        output_names_ = {"y", "sum"};
    }

    resolver::SlotUse use(Pass pass) const override {
        auto request = std::make_shared<NormalizationRequest>();
        fill_request(*request, settings_, dtype_, pass);
        request->norm = settings_.norm;
        request->rows = rows_;
        request->width = width_;
        request->parameter_dtype = settings_.parameter_dtype;
        request->affine_bias = has_beta();
        request->input_bias = settings_.bias;
        request->residual = settings_.residual;
        request->dropout = settings_.dropout;
        return bench_use(Kind::normalization, request);
    }

    // Forward reads x (and the residual) and writes y (and the sum); backward reads what the norm was taken
    // of and the gradients of both, and writes the gradient of the sum, and that of x where dropout makes it
    // another.
    Work work(Pass pass) const override {
        if (pass == Pass::backward) return without_forward(work(Pass::forward_backward), work(Pass::forward));
        const int sum = has_sum() ? 1 : 0;
        int rows = 2 + sum + (settings_.residual ? 1 : 0);
        if (pass == Pass::forward_backward)
            rows += 3 + sum + (settings_.residual && settings_.dropout > 0.0 ? 1 : 0);
        return {0.0, bytes_of(width_, rows), true};
    }

    std::unique_ptr<Contender> bind(const resolver::PlanRow& row, runtime::Registry& registry,
                                    const HostInfo& host, Pass pass) override {
        using runtime::NormalizationOp;
        const auto make = [this, pass](const NormalizationOp& operation, bool dropout) {
            return TensorCall(
                [operation, params = params(dropout)](const std::vector<at::Tensor>& in) {
                    return list(operation(pack(in), params));
                },
                inputs_, grad_outputs_, pass, settings_.device);
        };
        return std::make_unique<OperationContender<NormalizationOp>>(
            runtime::bind<NormalizationOp>(row, registry, host), make, output_names_);
    }

private:
    bool has_beta() const { return settings_.norm == NormKind::layer_norm && settings_.affine_bias; }
    bool has_sum() const { return settings_.bias || settings_.residual || settings_.dropout > 0.0; }

    NormalizationParams params(bool with_dropout) const {
        return {settings_.norm, 1e-5, dropout(with_dropout), {}};
    }
    static NormalizationInputs pack(const std::vector<at::Tensor>& in) {
        return {in[0], in[1], in[2], in[3], in[4]};
    }
    static std::vector<at::Tensor> list(const NormalizationOutputs& outputs) {
        return {outputs.y, outputs.sum};
    }

    TensorFunction reference_function(bool dropout) const override {
        return [params = params(dropout)](const std::vector<at::Tensor>& in) {
            return list(reference::normalization(pack(in), params));
        };
    }

    TensorFunction bare_function() const override {
        return [norm = settings_.norm, p = settings_.dropout,
                width = width_](const std::vector<at::Tensor>& in) {
            at::Tensor sum = in[0];
            if (in[1].defined()) sum = sum + in[1];
            if (p > 0.0) sum = at::dropout(sum, p, true);
            if (in[2].defined()) sum = in[2] + sum;
            const at::Tensor y = norm == NormKind::layer_norm
                                     ? at::layer_norm(sum, {width}, in[3], in[4], 1e-5)
                                     : at::rms_norm(sum, {width}, in[3], 1e-5);
            return std::vector<at::Tensor>{y, sum.is_same(in[0]) ? at::Tensor() : sum};
        };
    }
};

class ActivationCase final : public RowCase {
public:
    ActivationCase(const BenchSettings& settings, const BenchShape& shape, DType dtype)
        : RowCase(settings, shape, dtype) {
        inputs_ = {{"x", rows_of(in_width(), 0)},
                   {"bias", settings.bias ? parameter(in_width(), 1, 0.5, 0.0) : at::Tensor()}};
        grad_outputs_ = {rows_of(width_, 2)};
        output_names_ = {"y"};
    }

    resolver::SlotUse use(Pass pass) const override {
        auto request = std::make_shared<ActivationRequest>();
        fill_request(*request, settings_, dtype_, pass);
        request->activation = settings_.activation;
        request->rows = rows_;
        request->width = width_;
        request->input_bias = settings_.bias;
        request->dropout = settings_.dropout;
        return bench_use(Kind::activation, request);
    }

    // Forward reads x and writes y; backward reads the gradient of y and, if its slope is not the same
    // everywhere, x, and writes the gradient of x.
    Work work(Pass pass) const override {
        if (pass == Pass::backward) return without_forward(work(Pass::forward_backward), work(Pass::forward));
        const double forward = bytes_of(in_width(), 1) + bytes_of(width_, 1);
        const bool reads_x = settings_.activation != ActivationKind::identity;
        const double backward = bytes_of(in_width(), reads_x ? 2 : 1) + bytes_of(width_, 1);
        return {0.0, pass == Pass::forward ? forward : forward + backward, true};
    }

    std::unique_ptr<Contender> bind(const resolver::PlanRow& row, runtime::Registry& registry,
                                    const HostInfo& host, Pass pass) override {
        using runtime::ActivationOp;
        const auto make = [this, pass](const ActivationOp& operation, bool dropout) {
            return TensorCall(
                [operation, params = params(dropout)](const std::vector<at::Tensor>& in) {
                    return std::vector<at::Tensor>{operation({in[0], in[1]}, params)};
                },
                inputs_, grad_outputs_, pass, settings_.device);
        };
        return std::make_unique<OperationContender<ActivationOp>>(
            runtime::bind<ActivationOp>(row, registry, host), make, output_names_);
    }

private:
    std::int64_t in_width() const { return is_gated(settings_.activation) ? 2 * width_ : width_; }
    ActivationParams params(bool with_dropout) const {
        return {settings_.activation, dropout(with_dropout), {}};
    }

    TensorFunction reference_function(bool dropout) const override {
        return [params = params(dropout)](const std::vector<at::Tensor>& in) {
            return std::vector<at::Tensor>{reference::activation({in[0], in[1]}, params)};
        };
    }

    static at::Tensor bare_activation(ActivationKind kind, const at::Tensor& x) {
        switch (kind) {
            case ActivationKind::gelu_erf:
            case ActivationKind::geglu_erf:
                return at::gelu(x);
            case ActivationKind::gelu_tanh:
            case ActivationKind::geglu_tanh:
                return at::gelu(x, "tanh");
            case ActivationKind::relu:
            case ActivationKind::reglu:
                return at::relu(x);
            case ActivationKind::silu:
            case ActivationKind::swiglu:
                return at::silu(x);
            default:
                return x;
        }
    }

    TensorFunction bare_function() const override {
        return [kind = settings_.activation, p = settings_.dropout,
                width = width_](const std::vector<at::Tensor>& in) {
            const at::Tensor x = in[1].defined() ? in[0] + in[1] : in[0];
            at::Tensor y = is_gated(kind)
                               ? bare_activation(kind, x.narrow(-1, 0, width)) * x.narrow(-1, width, width)
                               : bare_activation(kind, x);
            return std::vector<at::Tensor>{p > 0.0 ? at::dropout(y, p, true) : y};
        };
    }
};

}  // namespace

std::unique_ptr<BenchCase> case_of(KindTraits<Kind::normalization>, const BenchSettings& settings,
                                   const BenchShape& shape, DType dtype) {
    return std::make_unique<NormalizationCase>(settings, shape, dtype);
}

std::unique_ptr<BenchCase> case_of(KindTraits<Kind::activation>, const BenchSettings& settings,
                                   const BenchShape& shape, DType dtype) {
    return std::make_unique<ActivationCase>(settings, shape, dtype);
}

}  // namespace switchyard::bench
