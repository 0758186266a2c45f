// How fast the processors' clock runs and how hot they are, where Linux tells: both change what a step takes,
// and neither is the step's own.
//
// No LibTorch here.
#pragma once

#include <string>

namespace switchyard::bench {

struct MachineClock {
    double mhz = -1.0;  // mean of all processors, now; below 0: not known, as within most virtual machines
    double celsius = -1.0;  // of the hottest sensor of the processors; below 0: not known
};

// `sys`: where sysfs is. Frequencies: Documentation/admin-guide/pm/cpufreq.rst (scaling_cur_freq, kHz);
// temperatures: Documentation/hwmon/sysfs-interface.rst (tempN_input, thousandths of a degree) of the drivers
// coretemp, k10temp, zenpower and cpu_thermal, of the Linux kernel.
MachineClock read_machine_clock(const std::string& sys = "/sys");

}  // namespace switchyard::bench
