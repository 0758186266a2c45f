// What a configured model consists of: for each part its parameters, the floating-point operations of a forward pass, and what it keeps for backward. Computed
// from sizes alone; a test holds the parameters against the model itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <switchyard/config/config.h>

namespace switchyard::model {

struct ModelPart {
    std::string name;             // "embeddings", "encoder.0-5 attention", ...
    std::string shapes;           // "q 384x384, k 384x384, v 384x384, out 384x384"
    std::int64_t layers = 1;      // alike
    std::int64_t parameters = 0;  // of all of them
    double forward_flops =
        0.0;  // of all, for one batch of batch.size x batch.max_length; a multiply-add counts 2
    std::int64_t activation_bytes = 0;  // of all, kept for backward without fusion, in precision.parameter_dtype (auto: float32)
};

std::vector<ModelPart> describe(const config::Config& config);

}  // namespace switchyard::model
