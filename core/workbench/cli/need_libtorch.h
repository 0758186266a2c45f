// For commands of the program that has no LibTorch, and need it all the same, in processes that they start.
#pragma once

namespace switchyard::cli {

// Throws Failure where LibTorch is not found (core/kernel/machine/libtorch_place.h).
void need_libtorch();

}  // namespace switchyard::cli
