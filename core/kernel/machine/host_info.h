// This machine, or one that is only described, as the HostInfo that `supports` is asked with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/machine/machine_rates.h"

namespace switchyard::machine {

// cpu_only looks at /proc and /sys only. with_devices also asks the NVIDIA driver (libcuda, opened at run
// time), without making a context on any device.
enum class Look { cpu_only, with_devices };

HostInfo this_host(Look look);

struct DescribedHost {
    std::optional<HostInfo> host;
    MachineRates rates;  // [speed] and [network] of the description
    std::string error;   // with the names that there are
};

// `host`: the name of a description (configs/hosts/NAME.toml, installed in share/switchyard/hosts), or the
// path of one.
DescribedHost describe(const std::string& host);

std::vector<std::string> described_host_names();

}  // namespace switchyard::machine
