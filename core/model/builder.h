// Makes a model's parameters with the initialisation of its paper.
//
//   bert  normal(0, 0.02), biases 0 (Devlin et al. 2019)
//   gpt   normal(0, 0.02), projections into the residual stream divided by sqrt(2 * layers) (Radford et al. 2019)
//   t5    normal with deviations from the widths: q (d * head_dim)^-1/2, k and v d^-1/2, out (heads * head_dim)^-1/2, feed-forward d^-1/2 in and
//         intermediate^-1/2 out, embeddings 1 (Raffel et al. 2020, mesh-tensorflow's layers)
// Norms start at 1 and 0. All values come from one generator in the order of creation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <switchyard/config/config.h>
#include <switchyard/model/linear.h>
#include <switchyard/model/parameters.h>

namespace switchyard::model {

enum class LinearRole : std::uint8_t {
    query,
    key_value,
    attention_out,
    feed_forward_in,
    feed_forward_out,
    head
};

struct Norm {
    std::string name;  // "encoder.0.attention.norm"
    at::Tensor weight;
    at::Tensor beta;  // undefined for RMSNorm and models without biases
};

class Builder {
public:
    Builder(const config::Config& config, Parameters& parameters);

    Linear linear(const std::string& name, std::int64_t in, std::int64_t out, LinearRole role,
                  std::int64_t layer = 0);
    Linear linear(const std::string& name, std::int64_t in, std::int64_t out, LinearRole role,
                  std::int64_t layer, bool bias);
    Norm norm(const std::string& name);
    at::Tensor embedding(const std::string& name, std::int64_t rows);
    at::Tensor table(const std::string& name, std::int64_t rows, std::int64_t columns, double deviation);
    at::Tensor zeros(const std::string& name, std::int64_t size);

    // How many parameters there are, and those that came since there were `count`.
    std::size_t count() const { return parameters_.all().size(); }
    std::vector<at::Tensor> made_since(std::size_t count) const;

private:
    double deviation(LinearRole role, std::int64_t in) const;
    at::Tensor normal(at::IntArrayRef sizes, double deviation);

    const config::ModelConfig& model_;
    Parameters& parameters_;
    at::TensorOptions options_;
    at::Generator generator_;
};

}  // namespace switchyard::model
