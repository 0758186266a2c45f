// What a component threw because there was no memory for it: the machine lacked it at that moment, and the
// component may well do another time.
#pragma once

#include "core/kernel/runtime/guard.h"

namespace switchyard::runtime {

// The guard makes it of std::bad_alloc and of LibTorch's OutOfMemoryError.
class PluginMemoryError final : public PluginError {
public:
    using PluginError::PluginError;
};

}  // namespace switchyard::runtime
