#include "core/kernel/probe/forward.h"

#include <sstream>
#include <vector>

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/activation.h>
#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/data_loader.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/interfaces/loss.h>
#include <switchyard/interfaces/normalization.h>
#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/precision.h>
#include <switchyard/interfaces/torch_types.h>

namespace switchyard::loader {

namespace {

std::string shape_problem(const char* what, const at::Tensor& tensor, at::IntArrayRef expected) {
    std::ostringstream text;
    if (!tensor.defined())
        text << "left " << what << " undefined";
    else if (tensor.sizes() != expected)
        text << "returned " << what << " of shape " << tensor.sizes() << ", expected " << expected;
    return text.str();
}

std::string run(Attention& attention, const AttentionRequest& request) {
    const auto sizes = {request.batch.min, request.heads.min, request.q_length.min, request.head_dim.min};
    const at::Tensor x_BHND = at::ones(sizes, to_scalar_type(request.dtype));
    return shape_problem("its output", attention.forward({x_BHND, x_BHND, x_BHND, {}, {}}, {}, nullptr).out,
                         x_BHND.sizes());
}

std::string run(Normalization& normalization, const NormalizationRequest& request) {
    const auto dtype = to_scalar_type(request.dtype);
    const at::Tensor x = at::ones({request.rows.min, request.width.min}, dtype);
    const at::Tensor weight = at::ones({request.width.min}, dtype);
    const at::Tensor beta = request.affine_bias ? at::zeros({request.width.min}, dtype) : at::Tensor{};
    NormalizationParams params;
    params.norm = request.norm;
    return shape_problem("its output", normalization.forward({x, {}, {}, weight, beta}, params, nullptr).y,
                         x.sizes());
}

std::string run(Activation& activation, const ActivationRequest& request) {
    const std::int64_t width = request.width.min;
    const at::Tensor x = at::ones({request.rows.min, is_gated(request.activation) ? 2 * width : width},
                                  to_scalar_type(request.dtype));
    ActivationParams params;
    params.activation = request.activation;
    return shape_problem("its output", activation.forward({x, {}}, params, nullptr),
                         {request.rows.min, width});
}

std::string run(Loss& loss, const LossRequest& request) {
    const at::Tensor logits =
        at::ones({request.rows.min, request.classes.min}, to_scalar_type(request.dtype));
    const auto values = request.dtype == DType::float64 ? at::kDouble : at::kFloat;
    const at::Tensor targets = has_value_targets(request) ? at::zeros(logits.sizes(), values)
                                                          : at::zeros({request.rows.min}, at::kLong);
    LossParams params;
    params.loss = request.loss;
    return shape_problem("its loss", loss.forward({logits, {}, {}, targets}, params, nullptr).loss, {});
}

std::string run(Optimizer& optimizer, const OptimizerRequest& request) {
    // A matrix, for algorithms that take nothing else.
    const at::Tensor value = at::ones({2, 2}, to_scalar_type(request.dtype));
    Parameter parameter{"probe", value, at::full({2, 2}, 0.5, to_scalar_type(request.gradient_dtype)), {}};
    std::vector<ParameterGroup> groups{{"probe", {}, {parameter}}};
    optimizer.bind(groups);
    optimizer.step(groups, {});
    return {};
}

std::string run(Precision& precision, const PrecisionRequest&) {
    precision.begin_step();
    for (std::size_t i = 0; i < names<OpClass>.size(); ++i)
        precision.compute(static_cast<OpClass>(i), "probe"),
            precision.storage(static_cast<OpClass>(i), "probe");
    precision.end_step();
    return {};
}

std::string run(Linear& linear, const LinearRequest& request) {
    const auto dtype = to_scalar_type(request.dtype);
    const at::Tensor x_RI = at::ones({request.rows.min, request.in}, dtype);
    const at::Tensor weight_OI = at::ones({request.out, request.in}, dtype);
    return shape_problem("its output", linear.forward({x_RI}, {{weight_OI}}, {}),
                         {request.rows.min, request.out});
}

class ThreeSamples final : public SampleSource {
public:
    std::int64_t size() const override { return 3; }
    std::int64_t length(std::int64_t index) const override { return index + 2; }
    Sample get(std::int64_t index, std::int64_t) const override {
        return {
            std::vector<std::int64_t>(static_cast<std::size_t>(length(index)), index + 1), {}, {}, {0}, {}};
    }
};

std::string run(DataLoader& loader, const DataLoaderRequest& request) {
    static const ThreeSamples
        samples;  // it must outlive the loader, whose threads may still be reading ahead
    LoaderParams params;
    params.layout = request.layout;
    params.batch_size = request.batch.min;
    params.max_length = request.length.max;
    loader.start(samples, params);
    Batch batch;
    if (!loader.next(batch)) return "has no batch for three samples";
    return batch.source.ids.defined() ? std::string{} : "left the ids of a batch undefined";
}

}  // namespace

std::string tiny_forward(Kind kind, void* component, const Request& request) {
    return visit(kind, [&]<class Traits>(Traits) {
        return run(*static_cast<typename Traits::Interface*>(component), Traits::request(request));
    });
}

}  // namespace switchyard::loader
