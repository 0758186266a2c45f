// The folder of a run whose linear layers are stored in 8 or 4 bits: config.toml with [quantization], model/
// and the tokenizer, so that every command takes it as any run.
#pragma once

#include <cstdint>
#include <string>

#include "core/kernel/config/quantization_config.h"
#include "core/workbench/quantize/layers.h"
#include "core/workbench/train/session.h"

namespace switchyard::cli {

// `session`: its weights loaded and not settled. Layers that `how.skip` names stay as they are, multiplied by
// the session's linear.backend. `scales`: of method "static". `label_scale`: a file to copy; empty: none.
// `folder`: made; what is there already is replaced. Throws Failure for what cannot be written.
void write_quantized_run(const train::Session& session, const config::QuantizationConfig& how,
                         const quantize::InputScales& scales, const std::string& label_scale,
                         const std::string& folder);

// Bytes of the files below.
std::int64_t bytes_below(const std::string& folder);

}  // namespace switchyard::cli
