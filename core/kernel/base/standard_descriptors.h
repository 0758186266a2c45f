// Descriptors 0, 1 and 2 of a program that was started without them, as by `program 2>&-` or by a supervisor:
// the next file that it opens would get the number, and what is meant for the standard error would be written
// into that file.
#pragma once

namespace switchyard::base {

// Opens on /dev/null what of them is missing. Called by guard_terminal, before anything opens a file.
void open_standard_descriptors();

}  // namespace switchyard::base
