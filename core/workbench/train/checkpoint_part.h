// Of ranks that write a checkpoint together, the place of one.
#pragma once

#include <cstdint>

namespace switchyard::train {

struct CheckpointPart {
    std::int64_t index = 0, count = 1;  // of the ranks that write
    bool writes = true;                 // this one does
};

}  // namespace switchyard::train
