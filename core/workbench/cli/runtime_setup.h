// What [runtime] says, done to this process.
#pragma once

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/config/run_config.h"

namespace switchyard::cli {

// Whether a process may begin anew: not once it has read what it cannot read again.
enum class Restart { allowed, refused };

// Sets the CPU allocator and LibTorch's threads. Where the environment has another runtime.spin, the process
// begins anew with that one, by exec with the same arguments: call it before anything is read from the
// standard input or printed.
void set_up_runtime(const config::RuntimeConfig& runtime, Restart restart = Restart::allowed);

// Opens LibTorch's library of the device, before LibTorch is first asked for a tensor there; nothing on a
// host that has no such device. Throws Failure.
void load_device(const HostInfo& host, Device device);

// Only that, for a process that talks to others before the rest can be set up.
void begin_anew_to_spin(const config::RuntimeConfig& runtime);

}  // namespace switchyard::cli
