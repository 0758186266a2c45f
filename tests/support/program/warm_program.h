// Starts the program that was built without LibTorch's start, which takes a third of a second of each: one
// process for each test program has it behind it, and becomes the program in a copy of itself for each
// start.
//
// What waits is libexec/switchyard/switchyard-run, started by bin/switchyard, with a library that takes the
// place of its main() (warm_program_main.cpp). Nothing in the program knows of it, and what it starts
// itself is started as ever. With a sanitizer there is none of this.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <sys/types.h>

#include "warm_request.h"

namespace switchyard::test {

// The new process, a child of this one; below 0: it cannot be had so, and has to be started from the
// beginning: another command than those that take LibTorch, or an environment that is read before main().
pid_t start_warm(const WarmRequest& request, const std::array<int, warm_descriptors>& descriptors);

}  // namespace switchyard::test
