// How a kernel is started (<switchyard/sdk/device_launch.h>).
#pragma once

#include <switchyard/sdk/device_launch.h>

namespace switchyard::flash_cuda {

using switchyard::device::Launch;

}  // namespace switchyard::flash_cuda
