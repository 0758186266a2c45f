// For commands of the program that has no LibTorch, and need it all the same, in processes that they start.
#pragma once

namespace switchyard::cli {

// Lets programs that are started from here on find LibTorch; throws Failure where it is not found
// (core/kernel/machine/libtorch_place.h).
void need_libtorch();

}  // namespace switchyard::cli
