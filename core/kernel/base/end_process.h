// The end of a program that has done its work.
#pragma once

namespace switchyard::base {

// What main() returns last: `return end_process(code)`. Everything that was printed is written, and the
// process ends with that exit code at once, without the destructors of static objects and what was registered
// with std::atexit. Those of LibTorch take a third of the time of a short command, and those of plugins could
// crash, hang or choose another exit code when all is done.
// Where something works while a process ends - a sanitizer, or a tool that LD_PRELOAD or
// CUDA_INJECTION64_PATH names, such as a profiler - it returns the code, and the process ends as others do.
// SWITCHYARD_EXIT says it otherwise: "full" for all destructors, "quick" for none.
int end_process(int code) noexcept;

}  // namespace switchyard::base
