#include "core/workbench/model/requests.h"

#include <algorithm>

namespace switchyard::model {

Dtypes configured_dtypes(const config::Config& config) {
    const auto parameters = config.precision.parameter_dtype.value_or(DType::float32);
    const auto inputs = config.precision.compute_dtype.value_or(parameters);
    return {[inputs](OpClass, const std::string&) { return inputs; },
            [parameters](OpClass, const std::string&) { return parameters; }};
}

DType Requests::compute(OpClass op, const std::string& layer) const {
    return config_.precision.compute_dtype ? *config_.precision.compute_dtype : dtypes_.compute(op, layer);
}

// The documents of a block are sequences of their own, of one token at least.
Range Requests::batch() const {
    const bool documents = config_.data.blocks == config::Blocks::packed_lm;
    return {1, config_.batch.size * (documents ? config_.batch.max_length : 1)};
}

Range Requests::rows(Phase phase) const {
    const auto length = query_lengths(phase);
    return {std::max<std::int64_t>(length.min, 1), config_.batch.size * length.max};
}

}  // namespace switchyard::model
