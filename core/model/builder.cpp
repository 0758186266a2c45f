#include <switchyard/model/builder.h>

#include <cmath>
#include <memory>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/torch_types.h>

namespace switchyard::model {

Builder::Builder(const config::Config& config, Parameters& parameters)
    : model_(config.model),
      parameters_(parameters),
      options_(at::TensorOptions()
                   .dtype(to_scalar_type(config.precision.parameter_dtype.value_or(DType::float32)))
                   .device(to_device_type(config.run.device))),
      generator_(at::detail::createCPUGenerator(static_cast<std::uint64_t>(config.run.seed))) {}

double Builder::deviation(LinearRole role, std::int64_t in) const {
    const auto width = static_cast<double>(in);
    if (model_.type == config::ModelType::t5) {
        const double own = 1.0 / std::sqrt(width);
        return role == LinearRole::query ? own / std::sqrt(static_cast<double>(model_.head_dim)) : own;
    }
    const bool into_residual = role == LinearRole::attention_out || role == LinearRole::feed_forward_out;
    const bool scaled = model_.type == config::ModelType::gpt && into_residual;
    return scaled ? 0.02 / std::sqrt(2.0 * static_cast<double>(model_.layers)) : 0.02;
}

// Drawn in float32 on the CPU whatever the dtype and device, so that a seed means the same model everywhere.
at::Tensor Builder::normal(at::IntArrayRef sizes, double deviation) {
    auto values = at::empty(sizes, at::TensorOptions().dtype(at::kFloat));
    values.normal_(0.0, deviation, generator_);
    return values.to(options_);
}

Linear Builder::linear(const std::string& name, std::int64_t in, std::int64_t out, LinearRole role,
                       std::int64_t layer) {
    return linear(name, in, out, role, layer, model_.bias);
}

Linear Builder::linear(const std::string& name, std::int64_t in, std::int64_t out, LinearRole role,
                       std::int64_t layer, bool bias) {
    Linear result;
    result.weight = parameters_.add(name + ".weight", normal({out, in}, deviation(role, in)));
    if (bias) result.bias = zeros(name + ".bias", out);
    result.site = std::make_shared<const LinearSite>(LinearSite{name, layer, model_.layers});
    return result;
}

Norm Builder::norm(const std::string& name) {
    Norm result;
    result.name = name;
    result.weight = parameters_.add(name + ".weight", at::ones({model_.hidden_size}, options_));
    if (model_.norm == NormKind::layer_norm && model_.bias)
        result.beta = zeros(name + ".bias", model_.hidden_size);
    return result;
}

at::Tensor Builder::embedding(const std::string& name, std::int64_t rows) {
    return table(name, rows, model_.hidden_size, model_.type == config::ModelType::t5 ? 1.0 : 0.02);
}

at::Tensor Builder::table(const std::string& name, std::int64_t rows, std::int64_t columns,
                          double deviation) {
    return parameters_.add(name, normal({rows, columns}, deviation));
}

std::vector<at::Tensor> Builder::made_since(std::size_t count) const {
    std::vector<at::Tensor> made;
    for (std::size_t i = count; i < parameters_.all().size(); ++i) made.push_back(parameters_.all()[i].value);
    return made;
}

at::Tensor Builder::zeros(const std::string& name, std::int64_t size) {
    return parameters_.add(name, at::zeros({size}, options_));
}

}  // namespace switchyard::model
