#include "core/kernel/machine/host_info.h"

#include "core/kernel/machine/cpu_features.h"
#include "core/kernel/machine/nvidia_driver.h"
#include "core/kernel/machine/program_paths.h"

namespace switchyard::machine {

HostInfo this_host(Look look) {
    HostInfo host;
    host.name = "this host";
    host.libtorch_version = SWITCHYARD_LIBTORCH_VERSION;
    describe_this_cpu(host);
    if (look == Look::with_devices) {
        host.devices = remembered_devices(standard_cache_folder(), nvidia_state(), nvidia_devices);
    }
    return host;
}

}  // namespace switchyard::machine
