// Ends the process while it is loaded.
#include <cstdlib>

namespace {
struct Exit {
    Exit() { std::exit(3); }
} at_load;
}  // namespace
