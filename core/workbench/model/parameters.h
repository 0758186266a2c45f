// The parameters of a model: named, in a fixed order, created on the device and in the dtype that training
// stores them in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::model {

struct ModelParameter {
    std::string name;   // "encoder.0.attention.q.weight"
    at::Tensor value;   // a leaf that requires a gradient
    bool decay = true;  // weight decay applies: matrices and embeddings, not biases and norms
};

class Parameters {
public:
    // `value` becomes the parameter, not a copy of it. Throws std::logic_error for a name that is there
    // already.
    at::Tensor add(const std::string& name, at::Tensor value);

    const std::vector<ModelParameter>& all() const { return all_; }
    // nullptr if there is none of that name.
    const ModelParameter* find(std::string_view name) const;

    std::int64_t bytes() const;
    void zero_gradients();

private:
    std::vector<ModelParameter> all_;
    std::map<std::string, std::size_t, std::less<>> by_name_;
};

}  // namespace switchyard::model
