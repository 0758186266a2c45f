// Where an output goes. A regular file, and a name that is new, is replaced as a whole; all else - a device,
// a FIFO, a descriptor of this process - stays what it is and is written through.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace switchyard::base {

struct OutputTarget {
    std::string path;            // of the file to replace: where symbolic links lead
    std::optional<mode_t> mode;  // of that file; nothing: there is none yet
    int through = -1;            // descriptor to write to instead; whoever asked closes it
    std::string error;           // "it is a directory", or the system's reason; empty: none
};

// Waits for a reader where `name` is a FIFO. /dev/stdout, /dev/fd/N and symbolic links to them are the
// descriptor itself, with its position.
OutputTarget find_output(const std::string& name);

// Why an output cannot be begun there, as far as that can be told without opening or writing anything: it is
// a folder, or the folder that it would be in is not there or may not be written. "": nothing is known
// against it.
std::string why_not_writable(const std::string& name);

}  // namespace switchyard::base
