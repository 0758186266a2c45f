// Memory that can still be taken.
#pragma once

#include <cstdint>
#include <optional>

namespace switchyard::machine {

// Bytes that the system could give without swapping, or the control group of this process allows, whichever
// is less. Empty: the system does not say.
std::optional<std::int64_t> available_memory();

}  // namespace switchyard::machine
