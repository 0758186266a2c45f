// Why the calls of a job cannot be captured into graphs, where the configuration alone does not tell
// (config/derive.cpp has those).
#pragma once

#include <string>
#include <vector>

#include "core/kernel/runtime/binding.h"

namespace switchyard::device_graph {

// A line for each component that says no, or nothing, with its reason and what to do; empty: nothing speaks
// against it. `key`: what asks for graphs, "train.cuda_graph".
std::vector<std::string> capture_refusals(const std::vector<const runtime::BindingBase*>& bindings,
                                          const std::string& key);
// One such line.
std::string capture_refusal(const runtime::BindingBase& binding, const std::string& key,
                            const std::string& reason);

}  // namespace switchyard::device_graph
