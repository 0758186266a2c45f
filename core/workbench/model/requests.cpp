#include "core/workbench/model/requests.h"

#include <algorithm>

namespace switchyard::model {

Dtypes configured_dtypes(const config::Config& config) {
    const auto parameters = config.precision.parameter_dtype.value_or(DType::float32);
    const auto inputs = config.precision.compute_dtype.value_or(parameters);
    return {[inputs](OpClass, const std::string&) { return inputs; },
            [parameters](OpClass, const std::string&) { return parameters; }};
}

// Operands in float8 have scales, and what is made of them is bfloat16.
LinearRequest Requests::linear(const std::string& name, Phase phase, const config::SlotConfig& slot) const {
    const auto dtype = dtypes_.compute(OpClass::linear, name);
    auto r = make<LinearRequest>(dtype, phase, slot);
    const bool scaled = dtype == DType::float8_e4m3fn || dtype == DType::float8_e5m2;
    r.weight_dtype = dtype;
    r.output_dtype = scaled ? DType::bfloat16 : dtype;
    r.weight_format = scaled ? WeightFormat::scaled : WeightFormat::dense;
    r.tf32 = dtype == DType::float32 && dtypes_.tf32(name);
    return r;
}

LinearRequest Requests::quantized_linear(const std::string& name, Phase phase,
                                         const config::SlotConfig& slot) const {
    const auto& how = config_.quantization;
    auto r = linear(name, phase, slot);
    r.weight_format = WeightFormat::quantized;
    r.output_dtype = r.dtype;
    r.tf32 = false;
    r.weight_bits = how.bits();
    r.weight_group = how.group;
    r.zero_points = how.zero_points;
    r.input_quantization = how.inputs();
    return r;
}

DType Requests::compute(OpClass op, const std::string& layer) const {
    return config_.precision.compute_dtype ? *config_.precision.compute_dtype : dtypes_.compute(op, layer);
}

// The documents of a block are sequences of their own, of one token at least.
Range Requests::batch() const {
    const bool documents = config_.data.blocks == config::Blocks::packed_lm;
    return {1, config_.batch.size * (documents ? config_.batch.max_length : 1)};
}

bool Requests::reads_pages(Phase phase, DType attention) const {
    const auto& cache = config_.cache;
    if (phase != Phase::decode || cache.kind != config::CacheKind::paged) return false;
    return !cache.dtype || *cache.dtype == attention || size_of(*cache.dtype) > size_of(attention);
}

Range Requests::rows(Phase phase) const {
    const auto length = query_lengths(phase);
    const bool budget = config_.batch.tokens > 0 && !generates(phase);
    const auto most = budget ? config_.batch.most_tokens() : config_.batch.size * length.max;
    return {std::max<std::int64_t>(length.min, 1), most};
}

}  // namespace switchyard::model
