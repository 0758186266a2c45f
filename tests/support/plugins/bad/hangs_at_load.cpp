// Never comes back from being loaded, and leaves a process behind that keeps the pipes open.
#include <unistd.h>

namespace {
struct Hang {
    Hang() {
        (void)fork();
        while (true) pause();
    }
} at_load;
}  // namespace
