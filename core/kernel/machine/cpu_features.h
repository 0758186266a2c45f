// What the kernel says about this machine's processors and memory: /proc and /sys, with the limits of the
// process's control group.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/host_info.h>

namespace switchyard::machine {

// Sorted, as in the "flags" line of /proc/cpuinfo.
std::vector<std::string> parse_cpu_flags(std::string_view cpuinfo);
std::string parse_cpu_model(std::string_view cpuinfo);

// Processors that a control group allows: "max 100000" or "150000 100000" (quota and period, microseconds);
// 0: no limit.
int parse_cpu_quota(std::string_view cpu_max);

// Fills everything in `info` that is about processors and memory.
void describe_this_cpu(HostInfo& info);

}  // namespace switchyard::machine
