// Writes into whatever is open, and ends the process in the middle of a line, while it is loaded.
#include <unistd.h>

namespace {
struct BreaksOff {
    BreaksOff() {
        for (int fd = 3; fd < 256; ++fd) (void)!::write(fd, "half a line", 11);
        ::_exit(3);
    }
} at_load;
}  // namespace
