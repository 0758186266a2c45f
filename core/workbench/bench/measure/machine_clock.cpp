#include "core/workbench/bench/measure/machine_clock.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

namespace switchyard::bench {
namespace {

namespace fs = std::filesystem;

std::optional<double> number_in(const fs::path& file) {
    double value = 0.0;
    if (!(std::ifstream(file) >> value)) return std::nullopt;
    return value;
}

template <class Use>
void for_each_entry(const fs::path& folder, const Use& use) {
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        use(at->path());
}

double mean_mhz(const fs::path& processors) {
    double sum = 0.0;
    int count = 0;
    for_each_entry(processors, [&](const fs::path& processor) {
        const auto khz = number_in(processor / "cpufreq/scaling_cur_freq");
        if (!khz || *khz <= 0.0) return;
        sum += *khz / 1e3;
        ++count;
    });
    return count > 0 ? sum / count : -1.0;
}

bool is_of_processors(const fs::path& sensor) {
    constexpr std::array<std::string_view, 4> drivers{"coretemp", "k10temp", "zenpower", "cpu_thermal"};
    std::string name;
    std::ifstream(sensor / "name") >> name;
    return std::ranges::count(drivers, name) > 0;
}

double hottest(const fs::path& sensors) {
    double most = -1.0;
    for_each_entry(sensors, [&](const fs::path& sensor) {
        if (!is_of_processors(sensor)) return;
        for_each_entry(sensor, [&](const fs::path& file) {
            const auto name = file.filename().string();
            if (!name.starts_with("temp") || !name.ends_with("_input")) return;
            if (const auto thousandths = number_in(file)) most = std::max(most, *thousandths / 1e3);
        });
    });
    return most;
}

}  // namespace

MachineClock read_machine_clock(const std::string& sys) {
    return {mean_mhz(fs::path(sys) / "devices/system/cpu"), hottest(fs::path(sys) / "class/hwmon")};
}

}  // namespace switchyard::bench
