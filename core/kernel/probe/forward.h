// One tiny forward on the CPU, whatever the kind: does a component that says yes really answer?
#pragma once

#include <string>

#include <switchyard/interfaces/kinds.h>

namespace switchyard::loader {

// `component` points to the interface of `kind`, made for `request` (one of tiny_requests). Returns what is
// wrong with the answer, empty if nothing is; lets through what the component throws.
std::string tiny_forward(Kind kind, void* component, const Request& request);

}  // namespace switchyard::loader
