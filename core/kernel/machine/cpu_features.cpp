#include "core/kernel/machine/cpu_features.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>

namespace switchyard::machine {

namespace {

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The first line "KEY<blanks>: VALUE" of /proc/cpuinfo.
std::string_view value_of(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        const auto colon = line.find(':');
        if (line.starts_with(key) && colon != std::string_view::npos &&
            line.find_first_not_of(" \t", key.size()) == colon) {
            const auto begin = line.find_first_not_of(' ', colon + 1);
            return begin == std::string_view::npos ? std::string_view{} : line.substr(begin);
        }
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    return {};
}

std::int64_t number(std::string_view text) {
    std::int64_t value = 0;
    const auto begin = text.find_first_not_of(" \t");
    if (begin != std::string_view::npos)
        std::from_chars(text.data() + begin, text.data() + text.size(), value);
    return value;
}

// "2048K" or "2M"
std::int64_t size_with_unit(std::string_view text) {
    const std::int64_t value = number(text);
    if (text.find('K') != std::string_view::npos) return value << 10;
    if (text.find('M') != std::string_view::npos) return value << 20;
    return text.find('G') != std::string_view::npos ? value << 30 : value;
}

std::int64_t cache_bytes(int level) {
    std::int64_t largest = 0;
    for (int index = 0; index < 8; ++index) {
        const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
        const std::string type = read_file(folder + "/type");
        if (type.empty()) break;
        if (number(read_file(folder + "/level")) == level && !type.starts_with("Instruction")) {
            largest = std::max(largest, size_with_unit(read_file(folder + "/size")));
        }
    }
    return largest;
}

// The files `name` of this process's control group and of those around it (version 2), innermost first.
std::vector<std::string> control_group_files(const std::string& name) {
    std::string group = "/";
    std::istringstream lines(read_file("/proc/self/cgroup"));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("0::")) group = line.substr(3);
    }
    std::vector<std::string> contents;
    while (true) {
        const std::string content = read_file("/sys/fs/cgroup" + (group == "/" ? "" : group) + "/" + name);
        if (!content.empty()) contents.push_back(content);
        if (group.size() <= 1) return contents;
        const auto slash = group.find_last_of('/');
        group = slash == 0 || slash == std::string::npos ? "/" : group.substr(0, slash);
    }
}

int usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    int cores = sched_getaffinity(0, sizeof(set), &set) == 0
                    ? CPU_COUNT(&set)
                    : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    for (const std::string& content : control_group_files("cpu.max")) {
        const int quota = parse_cpu_quota(content);
        if (quota > 0) cores = std::min(cores, quota);
    }
    return std::max(cores, 1);
}

std::int64_t usable_memory() {
    std::int64_t bytes = number(value_of(read_file("/proc/meminfo"), "MemTotal")) << 10;
    for (const std::string& content : control_group_files("memory.max")) {
        const std::int64_t limit = number(content);  // 0 for "max"
        if (limit > 0) bytes = std::min(bytes, limit);
    }
    return bytes;
}

}  // namespace

std::vector<std::string> parse_cpu_flags(std::string_view cpuinfo) {
    std::istringstream words{std::string(value_of(cpuinfo, "flags"))};
    std::vector<std::string> flags{std::istream_iterator<std::string>(words), {}};
    std::sort(flags.begin(), flags.end());
    return flags;
}

std::string parse_cpu_model(std::string_view cpuinfo) { return std::string(value_of(cpuinfo, "model name")); }

int parse_cpu_quota(std::string_view cpu_max) {
    const std::int64_t quota = number(cpu_max);
    const auto blank = cpu_max.find(' ');
    const std::int64_t period = blank == std::string_view::npos ? 0 : number(cpu_max.substr(blank));
    return quota <= 0 || period <= 0
               ? 0
               : static_cast<int>(std::max<std::int64_t>(1, (quota + period - 1) / period));
}

void describe_this_cpu(HostInfo& info) {
    const std::string cpuinfo = read_file("/proc/cpuinfo");
    info.cpu_model = parse_cpu_model(cpuinfo);
    info.cpu_features = parse_cpu_flags(cpuinfo);
    info.cores = usable_cores();
    info.l2_bytes = cache_bytes(2);
    info.l3_bytes = cache_bytes(3);
    info.memory_bytes = usable_memory();
}

}  // namespace switchyard::machine
