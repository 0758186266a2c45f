// Linear layers: bound by their products, or, of few rows, by reading the weight.
//
// A cast of the parameters and the form that a component prepares of the weight are paid as they are in use:
// once a step where there are gradients, which is to say in each forward pass; once in all where there are
// none.
//
// Legend:  R rows  I in  O out
#include <algorithm>

#include <ATen/ops/linear.h>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/linear.h>
#include "core/kernel/runtime/operations/bind.h"
#include "core/kernel/runtime/operations/linear_op.h"
#include "core/workbench/bench/bench_tensors.h"

namespace switchyard::bench {

namespace {

// Multiplications of a product that is checked against the oracle: four of them take about a second in
// float64.
constexpr std::int64_t checked_products = std::int64_t{1} << 30;

const std::vector<std::string> output_names{"y"};

// How many of `all` are checked, of which each takes that many multiplications.
std::int64_t checked_of(std::int64_t all, std::int64_t each) {
    return std::clamp<std::int64_t>(checked_products / each, 1, all);
}

at::Tensor last(const at::Tensor& tensor, std::int64_t count) {
    return tensor.defined() ? tensor.narrow(0, tensor.size(0) - count, count) : tensor;
}

TensorFunction reference_function() {
    return [](const std::vector<at::Tensor>& in) {
        return std::vector<at::Tensor>{reference::linear(in[0], in[1], in[2])};
    };
}

// An operation that may read a form of the weight in its place.
class LinearContender final : public Contender {
public:
    LinearContender(std::unique_ptr<Contender> operation, std::function<std::int64_t()> spared)
        : operation_(std::move(operation)), spared_(std::move(spared)) {}

    void run() override { operation_->run(); }
    CheckedTensors results(bool dropout) override { return operation_->results(dropout); }
    const runtime::BindingBase& binding() const override { return operation_->binding(); }
    std::int64_t spared_bytes() override { return spared_(); }

private:
    std::unique_ptr<Contender> operation_;
    std::function<std::int64_t()> spared_;
};

class LinearCase final : public BenchCase {
public:
    LinearCase(const BenchSettings& settings, const BenchShape& shape, DType dtype)
        : settings_(settings),
          rows_(shape.rows),
          in_(shape.in),
          out_(shape.out),
          dtype_(dtype),
          checked_rows_(checked_of(rows_, in_ * out_)),
          checked_out_(checked_of(out_, rows_ * in_)) {
        const DType stored = settings.parameter_dtype;
        x_RI_ = random_normal({rows_, in_}, dtype, settings.seed, 0);
        weight_OI_ = random_normal({out_, in_}, stored, settings.seed, 1, 0.05);
        if (settings.bias) bias_O_ = random_normal({out_}, stored, settings.seed, 2, 0.5);
        grad_RO_ = random_normal({rows_, out_}, dtype, settings.seed, 3);
    }

    resolver::SlotUse use(Pass pass) const override {
        auto request = std::make_shared<LinearRequest>();
        fill_request(*request, settings_, dtype_, pass);
        request->rows = rows_;
        request->in = in_;
        request->out = out_;
        request->weight_dtype = request->output_dtype = dtype_;
        request->bias = settings_.bias;
        return bench_use(Kind::linear, request);
    }

    // One product forward and two of the same size backward. Each reads two of the three matrices, or their
    // gradients, and writes the third.
    Work work(Pass pass) const override {
        const double products = pass == Pass::forward ? 1.0 : pass == Pass::backward ? 2.0 : 3.0;
        const auto rows = static_cast<double>(rows_), in = static_cast<double>(in_),
                   out = static_cast<double>(out_);
        const double values = rows * in + in * out + rows * out;
        // The weight is read for a few rows, too few to be bound by products.
        const bool few = pass == Pass::forward && rows_ <= 8 && std::min(in_, out_) > 8 * rows_;
        return {2.0 * products * rows * in * out, products * values * static_cast<double>(size_of(dtype_)),
                few, few};
    }

    std::unique_ptr<Contender> bind(const resolver::PlanRow& row, runtime::Registry& registry,
                                    const HostInfo& host, Pass pass) override {
        using runtime::LinearOp;
        const runtime::LinearContext context{std::make_shared<LinearSite>(LinearSite{"bench", 0, 1}),
                                             std::make_shared<runtime::StepWeights>(), nullptr};
        const auto make = [this, pass, context](const LinearOp& operation, bool /*dropout*/) {
            return TensorCall(
                [operation, context, steps = pass != Pass::forward](const std::vector<at::Tensor>& in) {
                    if (steps) context.weights->forget();
                    return std::vector<at::Tensor>{operation({in[0], in[1], in[2]}, context)};
                },
                inputs(), {grad_RO_}, pass, settings_.device);
        };
        const auto select = [this](CheckedTensors all) {
            for (CheckedTensor& tensor : all) {
                const bool of_rows = tensor.name == "y" || tensor.name == "grad x";
                tensor.value = last(tensor.value, of_rows ? checked_rows_ : checked_out_);
            }
            return all;
        };
        const auto operation = runtime::bind<LinearOp>(row, registry, host);
        const auto weight_bytes = in_ * out_ * size_of(dtype_);
        return std::make_unique<LinearContender>(
            std::make_unique<OperationContender<LinearOp>>(operation, make, output_names, select),
            [operation, context, weight = on_device(weight_OI_, settings_.device), weight_bytes] {
                const auto form = operation.form_bytes(weight, context);
                return form == 0 ? 0 : weight_bytes - form;
            });
    }

    // Some rows of y and of the gradient of x, and the parameters' gradients for some of the outputs.
    CheckedTensors reference(Pass pass, DType dtype, bool /*dropout*/) override {
        const auto given = [&](std::vector<NamedInput> inputs) { return in_dtype(inputs, dtype_, dtype); };
        CheckedTensors checked = TensorCall(reference_function(),
                                            given({{"x", last(x_RI_, checked_rows_)},
                                                   {"weight", weight_OI_, false},
                                                   {"bias", bias_O_, false}}),
                                            {last(grad_RO_, checked_rows_)}, pass)
                                     .results(output_names);
        if (pass == Pass::forward) return checked;
        const CheckedTensors of_parameters =
            TensorCall(reference_function(),
                       given({{"x", x_RI_, false},
                              {"weight", last(weight_OI_, checked_out_)},
                              {"bias", last(bias_O_, checked_out_)}}),
                       {grad_RO_.narrow(1, out_ - checked_out_, checked_out_)}, pass)
                .results({});
        checked.insert(checked.end(), of_parameters.begin(), of_parameters.end());
        return checked;
    }

    std::string checked_part() const override {
        if (checked_rows_ == rows_ && checked_out_ == out_) return "";
        return std::to_string(checked_rows_) + " of " + std::to_string(rows_) + " rows, " +
               std::to_string(checked_out_) + " of " + std::to_string(out_) + " outputs";
    }

    std::function<void()> bare(Pass pass) override {
        const auto type = to_scalar_type(dtype_);
        const TensorFunction function = [type](const std::vector<at::Tensor>& in) {
            const at::Tensor bias = in[2].defined() ? in[2].to(type) : in[2];
            return std::vector<at::Tensor>{at::linear(in[0], in[1].to(type), bias)};
        };
        auto given = inputs();
        for (NamedInput& input : given) {
            if (pass == Pass::forward && input.value.defined()) input.value = input.value.to(type);
        }
        return [call = TensorCall(function, given, {grad_RO_}, pass)] { call.run(); };
    }

private:
    std::vector<NamedInput> inputs() const {
        return {{"x", x_RI_}, {"weight", weight_OI_}, {"bias", bias_O_}};
    }

    BenchSettings settings_;
    std::int64_t rows_, in_, out_;
    DType dtype_;
    std::int64_t checked_rows_, checked_out_;
    at::Tensor x_RI_, weight_OI_, bias_O_, grad_RO_;
};

}  // namespace

std::unique_ptr<BenchCase> case_of(KindTraits<Kind::linear>, const BenchSettings& settings,
                                   const BenchShape& shape, DType dtype) {
    return std::make_unique<LinearCase>(settings, shape, dtype);
}

}  // namespace switchyard::bench
