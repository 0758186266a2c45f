// NVIDIA devices as the driver describes them, without a toolkit and without making a context on any of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>

namespace switchyard::machine {

// Opens libcuda.so.1, takes a few tenths of a second where there is a driver. Empty where there is none, or
// no device.
std::vector<DeviceInfo> nvidia_devices();

// What can change the answer of nvidia_devices(), as a text that costs nothing to get: driver, devices,
// CUDA_VISIBLE_DEVICES, the system's last start. Empty where no driver shows itself.
std::string nvidia_state();

// `ask()`, or what it said when the state was the same, kept in a file in `folder` (empty: not kept; likewise
// with an empty state).
std::vector<DeviceInfo> remembered_devices(const std::string& folder, const std::string& state,
                                           const std::function<std::vector<DeviceInfo>()>& ask);

}  // namespace switchyard::machine
