// What Linux tells of the processors' clock and temperature, in a made-up sysfs.
#include <filesystem>
#include <fstream>

#include "core/workbench/bench/measure/machine_clock.h"

#include <switchyard_test.h>

namespace fs = std::filesystem;
using switchyard::bench::read_machine_clock;
using switchyard::test::temporary_dir;

namespace {

void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("the clock is the mean of all processors, the temperature that of their hottest sensor") {
    const auto sys = temporary_dir("sys");
    write(sys / "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000\n");
    write(sys / "devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3600000\n");
    write(sys / "class/hwmon/hwmon0/name", "nvme\n");
    write(sys / "class/hwmon/hwmon0/temp1_input", "99000\n");
    write(sys / "class/hwmon/hwmon1/name", "k10temp\n");
    write(sys / "class/hwmon/hwmon1/temp1_input", "61500\n");
    write(sys / "class/hwmon/hwmon1/temp3_input", "58250\n");
    write(sys / "class/hwmon/hwmon1/temp1_max", "70000\n");
    const auto clock = read_machine_clock(sys.string());
    CHECK(clock.mhz == Approx(3000.0));
    CHECK(clock.celsius == Approx(61.5));
}

TEST_CASE("what is not told, or is no number, is not known") {
    const auto sys = temporary_dir("sys");
    CHECK(read_machine_clock(sys.string()).mhz < 0.0);
    CHECK(read_machine_clock((sys / "none").string()).celsius < 0.0);
    write(sys / "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "<unknown>\n");
    write(sys / "devices/system/cpu/cpuidle/name", "x");
    write(sys / "class/hwmon/hwmon0/name", "coretemp\n");
    CHECK(read_machine_clock(sys.string()).mhz < 0.0);
    CHECK(read_machine_clock(sys.string()).celsius < 0.0);
}
