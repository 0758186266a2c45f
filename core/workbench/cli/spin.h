// How long LibTorch's threads spin for each other's work before they sleep (runtime.spin). Its OpenMP,
// libgomp, reads that from the environment when it is loaded (GOMP_SPINCOUNT and OMP_WAIT_POLICY in libgomp's
// manual), so it has to stand there before the process begins. Who has set one of them goes by that.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/run_config.h"

namespace switchyard::cli {

// "NAME=VALUE" of a process that is to spin so; none where the user's environment says it.
std::vector<std::string> spin_environment(config::Spin spin);

// In this process's environment, for programs that take its place.
void set_spin(config::Spin spin);

// Whether this process's environment says something else.
bool spins_otherwise(config::Spin spin);

}  // namespace switchyard::cli
