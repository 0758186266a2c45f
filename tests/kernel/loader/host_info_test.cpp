// This machine, and machines that are only described. To add a described host: a file in configs/hosts; it is
// checked here by itself.
#include <algorithm>

#include "core/kernel/machine/cpu_features.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/machine/nvidia_driver.h"

#include "fixture.h"
#include "nested_json.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::machine;
using namespace switchyard::test;

TEST_CASE("processors are read as the kernel writes them") {
    const std::string cpuinfo =
        "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some CPU @ 2.00GHz\nflags\t\t: fpu sse4_2 "
        "avx2 avx512_bf16\n"
        "vmx flags\t: vnmi\n\nprocessor\t: 1\nmodel name\t: Another\nflags\t\t: nothing\n";
    CHECK(parse_cpu_model(cpuinfo) == "Some CPU @ 2.00GHz");
    CHECK(parse_cpu_flags(cpuinfo) == std::vector<std::string>{"avx2", "avx512_bf16", "fpu", "sse4_2"});
    CHECK(parse_cpu_flags("").empty());
    CHECK(parse_cpu_model("model name without a colon").empty());
}

TEST_CASE("a control group's quota becomes a number of processors") {
    CHECK(parse_cpu_quota("max 100000\n") == 0);
    CHECK(parse_cpu_quota("200000 100000\n") == 2);
    CHECK(parse_cpu_quota("150000 100000\n") == 2);
    CHECK(parse_cpu_quota("1000 100000\n") == 1);
    CHECK(parse_cpu_quota("") == 0);
    CHECK(parse_cpu_quota("100000 0") == 0);
}

TEST_CASE("this host has processors, memory and a LibTorch") {
    const HostInfo host = this_host(Look::cpu_only);
    CHECK(host.name == "this host");
    CHECK_FALSE(host.described);
    CHECK(host.cores >= 1);
    CHECK(host.memory_bytes > (std::int64_t{1} << 28));
    CHECK(host.has_cpu_feature("sse2"));
    CHECK(std::is_sorted(host.cpu_features.begin(), host.cpu_features.end()));
    CHECK_THAT(host.libtorch_version, contains("2."));
    CHECK(host.devices.empty());
}

TEST_CASE("every described host can be read") {
    const auto names = described_host_names();
    for (const std::string name : {"a100", "h100", "h200", "laptop"})
        CHECK(std::find(names.begin(), names.end(), name) != names.end());
    for (const std::string& name : names) {
        const DescribedHost result = describe(name);
        INFO(result.error);
        REQUIRE(result.host.has_value());
        CHECK(result.host->described);
        CHECK(result.host->name == name);
        CHECK(std::is_sorted(result.host->cpu_features.begin(), result.host->cpu_features.end()));
    }
    CHECK(describe("h100").host->first(Device::cuda)->compute_capability == 90);
    CHECK(describe("a100").host->first(Device::cuda)->compute_capability == 80);
    CHECK(describe("laptop").host->first(Device::cuda) == nullptr);
    const auto h100 = describe("h100").rates;
    CHECK(h100.tflops_bfloat16 > h100.tflops_float32);
    CHECK(h100.network.ranks_per_host == 8);
    CHECK(h100.network.within.gbytes_per_second > h100.network.between.gbytes_per_second);
    CHECK_FALSE(describe("laptop").rates.network.within.known());
}

TEST_CASE("an unknown host is answered with the known ones") {
    CHECK(describe("h10").error ==
          "error: no description of a host 'h10'; expected one of a100, h100, h200, laptop, or the path of a "
          ".toml file; did you mean h100?\n");
}

TEST_CASE("mistakes in a description are all told, with their place") {
    const std::string file = temporary_dir("host") / "mine.toml";
    write_file(file,
               "cpu_model = 3\ncores = 0\ncpu_feature = [\"avx2\"]\nl2_bytes = 1\nl3_bytes = 1\nmemory_bytes "
               "= 1\n[speed]\ntflops_float32 = -1\n[network]\nbandwidth = 3\n[[device]]\ndevice = "
               "\"cpu\"\n");
    const std::string error = describe(file).error;
    CHECK_THAT(error,
               contains("mine.toml:1:13: error: cpu_model: is the integer 3; expected a text of one line"));
    CHECK_THAT(
        error,
        contains("mine.toml:2:9: error: cores: is the integer 0; expected an integer >= 1 and <= 65536"));
    CHECK_THAT(error, contains("mine.toml:3:1: error: cpu_feature: unknown key; did you mean cpu_features?"));
    CHECK_THAT(error, contains("mine.toml:8:18: error: speed.tflops_float32: is the integer -1"));
    CHECK_THAT(error, contains("mine.toml:10:1: error: network.bandwidth: unknown key"));
    CHECK_THAT(error, contains("device[0].device: the CPU is always there; leave it out"));
    CHECK_THAT(error, contains("device[0].compute_capability: is missing"));
    CHECK_THAT(describe(file + ".gone.toml").error, contains("cannot be read"));
}

TEST_CASE("devices are asked for once, until something about the driver changes") {
    const std::string folder = temporary_dir("devices");
    int asked = 0;
    const auto ask = [&] {
        ++asked;
        DeviceInfo device;
        device.name = "Some GPU";
        device.compute_capability = 90;
        device.memory_bytes = 1 << 30;
        return std::vector<DeviceInfo>{device};
    };
    CHECK(remembered_devices(folder, "driver 1", ask).size() == 1);
    const auto second = remembered_devices(folder, "driver 1", ask);
    CHECK(asked == 1);
    REQUIRE(second.size() == 1);
    CHECK(second[0].name == "Some GPU");
    CHECK(second[0].compute_capability == 90);
    CHECK(second[0].device == Device::cuda);
    remembered_devices(folder, "driver 2", ask);
    CHECK(asked == 2);
    write_file(folder + "/nvidia_devices.json", "{damaged");
    remembered_devices(folder, "driver 2", ask);
    CHECK(asked == 3);
    remembered_devices("", "driver 2", ask);
    remembered_devices(folder, "", ask);
    CHECK(asked == 5);
}

TEST_CASE("what is remembered of devices is forgotten where it nests too deep or never ends") {
    const auto folder = temporary_dir("devices").string();
    const auto file = folder + "/nvidia_devices.json";
    int asked = 0;
    const auto ask = [&] { return ++asked, std::vector<DeviceInfo>(1); };
    remembered_devices(folder, "driver", ask);
    const auto good = read_file(file);
    for (const int beyond : {0, 1}) {
        write_file(file, nested(good, beyond));
        CHECK(remembered_devices(folder, "driver", ask).size() == 1);
        CHECK(asked == 1 + beyond);
    }
    std::filesystem::remove(file);
    std::filesystem::create_symlink("/dev/zero", file);
    CHECK(remembered_devices(folder, "driver", ask).size() == 1);
    CHECK(asked == 3);
}
