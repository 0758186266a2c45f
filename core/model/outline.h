// What a configured model asks of its slots: one SlotUse per slot, phase and group of equal layers. No
// LibTorch, no tensor, no plugin.
//
// A range covers every batch that the configuration allows ([batch] size, min_length, max_length): a binding
// is made once for all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <switchyard/config/config.h>
#include <switchyard/resolver/plan.h>

namespace switchyard::model {

// What a precision policy says of a class of operations in a layer ("encoder.3", "encoder", "model").
struct Dtypes {
    std::function<DType(OpClass, const std::string& layer)> compute;  // of the inputs
    std::function<DType(OpClass, const std::string& layer)> storage;  // of the parameters
};

// Both "auto"s of [precision] stand here for float32 and no loss scaling: auto_precision.h fills them in before.
//
// Everything in the parameters' dtype, unless precision.compute_dtype says otherwise.
Dtypes configured_dtypes(const config::Config& config);

// The use of the precision slot alone. It comes first: the policy that is chosen for it answers for the
// dtypes of all others.
resolver::SlotUse outline_precision(const config::Config& config);

// All other uses. precision.compute_dtype, where it is written, goes before the policy's answer.
std::vector<resolver::SlotUse> outline(const config::Config& config, const Dtypes& dtypes);

}  // namespace switchyard::model
