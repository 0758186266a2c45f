// The parameters of a model: named, in a fixed order, created on the device and in the dtype that training
// stores them in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/linear.h>
#include "core/workbench/model/parameter_cut.h"

namespace switchyard::model {

struct ModelParameter {
    std::string name;   // "encoder.0.attention.q.weight"
    at::Tensor value;   // a leaf that requires a gradient
    bool decay = true;  // weight decay applies: matrices and embeddings, not biases and norms
    ParameterCut cut;   // of which whole it is a part
};

// The weight of a linear layer that is stored in 8 or 4 bits. Its tensors come with the file.
struct QuantizedLayer {
    std::string name;  // "encoder.0.attention.q"
    std::int64_t out = 0, in = 0;
    std::shared_ptr<QuantizedWeight> weight;
};

class Parameters {
public:
    // `value` becomes the parameter, not a copy of it. Throws std::logic_error for a name that is there
    // already.
    at::Tensor add(const std::string& name, at::Tensor value, const ParameterCut& cut = {});

    const std::vector<ModelParameter>& all() const { return all_; }
    // nullptr if there is none of that name.
    const ModelParameter* find(std::string_view name) const;

    // A weight that is no parameter: it has no tensors until `weights/quantized_tensors.h` sets them.
    std::shared_ptr<const QuantizedWeight> add_quantized(const std::string& linear, std::int64_t out,
                                                         std::int64_t in);
    const std::vector<QuantizedLayer>& quantized() const { return quantized_; }

    // Of parameters alone.
    std::int64_t bytes() const;
    void zero_gradients();

private:
    std::vector<ModelParameter> all_;
    std::map<std::string, std::size_t, std::less<>> by_name_;
    std::vector<QuantizedLayer> quantized_;
};

}  // namespace switchyard::model
