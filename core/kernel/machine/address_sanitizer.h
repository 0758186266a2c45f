// Whether GCC's or Clang's address sanitizer watches this process: built in, or brought by LD_PRELOAD for a
// plugin that was built with it.
#pragma once

namespace switchyard::machine {

bool address_sanitizer_runs();

}  // namespace switchyard::machine
