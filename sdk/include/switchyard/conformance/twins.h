// Operations that run on a device are set against the same on the CPU.
#pragma once

#include <vector>

#include <switchyard/conformance/operation.h>

namespace switchyard::conformance {

// `one` gets the data of `twin`, the same case for the CPU.
void add_twin(OperationCase& one, const OperationCase& twin);

// Each case gets that of its name; `on_cpu` may have others between them. Throws std::logic_error where there
// is none.
void add_twins(std::vector<OperationCase>& cases, const std::vector<OperationCase>& on_cpu);

}  // namespace switchyard::conformance
