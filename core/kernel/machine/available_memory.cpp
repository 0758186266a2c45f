#include "core/kernel/machine/available_memory.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace switchyard::machine {
namespace {

std::optional<std::int64_t> number_in(const char* path) {
    std::ifstream file(path);
    std::int64_t value = 0;
    if (file >> value) return value;
    return std::nullopt;  // "max", or no such file
}

// The number behind `key` at the beginning of a line.
std::optional<std::int64_t> number_in(const char* path, std::string_view key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(key)) return std::strtoll(line.c_str() + key.size(), nullptr, 10);
    }
    return std::nullopt;
}

// proc(5)
std::optional<std::int64_t> of_the_system() {
    const auto kilobytes = number_in("/proc/meminfo", "MemAvailable:");
    return kilobytes ? std::optional(*kilobytes * 1024) : std::nullopt;
}

// In a container the group's own files stand at the root (cgroups(7)). What it holds of files that nobody
// reads is given up when memory is wanted.
std::optional<std::int64_t> of_the_group() {
    const auto limit = number_in("/sys/fs/cgroup/memory.max"),
               used = number_in("/sys/fs/cgroup/memory.current");
    if (!limit || !used) return std::nullopt;
    const auto given_up = number_in("/sys/fs/cgroup/memory.stat", "inactive_file ").value_or(0);
    return std::max<std::int64_t>(*limit - *used + given_up, 0);
}

}  // namespace

std::optional<std::int64_t> available_memory() {
    const auto system = of_the_system(), group = of_the_group();
    if (system && group) return std::min(*system, *group);
    return system ? system : group;
}

}  // namespace switchyard::machine
