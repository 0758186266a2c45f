#include "core/kernel/machine/nvidia_driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/read_text.h"

namespace switchyard::machine {

using base::Json;

namespace {

// Numbers of cuda.h (CUdevice_attribute), which never change.
enum Attribute : int {
    multiprocessor_count = 16,
    capability_major = 75,
    capability_minor = 76,
    shared_memory_optin = 97
};

struct Driver {
    int (*init)(unsigned) = nullptr;
    int (*device_count)(int*) = nullptr;
    int (*device_get)(int*, int) = nullptr;
    int (*device_name)(char*, int, int) = nullptr;
    int (*device_memory)(std::size_t*, int) = nullptr;
    int (*device_attribute)(int*, int, int) = nullptr;

    bool complete() const {
        return init != nullptr && device_count != nullptr && device_get != nullptr &&
               device_name != nullptr && device_memory != nullptr && device_attribute != nullptr;
    }
};

template <class Function>
void look_up(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
}

Driver open_driver() {
    Driver driver;
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed: drivers do not survive it
    if (library == nullptr) return driver;
    look_up(library, "cuInit", driver.init);
    look_up(library, "cuDeviceGetCount", driver.device_count);
    look_up(library, "cuDeviceGet", driver.device_get);
    look_up(library, "cuDeviceGetName", driver.device_name);
    look_up(library, "cuDeviceTotalMem_v2", driver.device_memory);
    look_up(library, "cuDeviceGetAttribute", driver.device_attribute);
    return driver;
}

Json json_of(const DeviceInfo& device) {
    return {{"index", device.index},
            {"name", device.name},
            {"compute_capability", device.compute_capability},
            {"memory_bytes", device.memory_bytes},
            {"multiprocessors", device.multiprocessors},
            {"shared_memory_per_block_bytes", device.shared_memory_per_block_bytes}};
}

DeviceInfo device_from(const Json& value) {
    const auto number = [&](const char* key) {
        const auto known = base::needed_integer(value, key);
        if (known < 0 || known > std::numeric_limits<int>::max()) throw base::InputError("is no such number");
        return static_cast<int>(known);
    };
    return {Device::cuda,
            number("index"),
            base::needed_text(value, "name"),
            number("compute_capability"),
            base::needed_integer(value, "memory_bytes"),
            number("multiprocessors"),
            number("shared_memory_per_block_bytes")};
}

// nullopt: not known for this state, or the file cannot be understood.
std::optional<std::vector<DeviceInfo>> recall(const std::string& file, const std::string& state) {
    try {
        const Json known = base::parse_json(base::text_if_readable(file, base::limits::json_bytes)).value;
        if (base::needed_text(known, "state") != state) return std::nullopt;
        std::vector<DeviceInfo> devices;
        for (const Json& device : base::needed_list(known, "devices")) devices.push_back(device_from(device));
        return devices;
    } catch (const base::InputError&) {
        return std::nullopt;
    }
}

DeviceInfo device_info(const Driver& driver, int index) {
    DeviceInfo info;
    info.index = index;
    int device = 0;
    std::array<char, 256> name{};
    std::size_t memory = 0;
    if (driver.device_get(&device, index) != 0) return info;
    const auto attribute = [&](Attribute which) {
        int value = 0;
        return driver.device_attribute(&value, which, device) == 0 ? value : 0;
    };
    if (driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device) == 0)
        info.name = name.data();
    if (driver.device_memory(&memory, device) == 0) info.memory_bytes = static_cast<std::int64_t>(memory);
    info.compute_capability = 10 * attribute(capability_major) + attribute(capability_minor);
    info.multiprocessors = attribute(multiprocessor_count);
    info.shared_memory_per_block_bytes = attribute(shared_memory_optin);
    return info;
}

}  // namespace

std::vector<DeviceInfo> nvidia_devices() {
    std::vector<DeviceInfo> devices;
    static const Driver driver = open_driver();
    int count = 0;
    if (!driver.complete() || driver.init(0) != 0 || driver.device_count(&count) != 0) return devices;
    for (int index = 0; index < count; ++index) devices.push_back(device_info(driver, index));
    return devices;
}

std::string nvidia_state() {
    std::string state = base::text_if_readable("/proc/driver/nvidia/version");
    if (state.empty()) return state;
    state += base::text_if_readable("/proc/sys/kernel/random/boot_id");
    std::vector<std::string> gpus;
    std::error_code error;
    for (std::filesystem::directory_iterator at("/proc/driver/nvidia/gpus", error), end; !error && at != end;
         at.increment(error)) {
        gpus.push_back(at->path().filename().string());
    }
    std::sort(gpus.begin(), gpus.end());
    for (const std::string& gpu : gpus) state += gpu + "\n";
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return state + "visible " + (visible == nullptr ? "all" : visible);
}

std::vector<DeviceInfo> remembered_devices(const std::string& folder, const std::string& state,
                                           const std::function<std::vector<DeviceInfo>()>& ask) {
    if (folder.empty() || state.empty()) return ask();
    const std::string file = folder + "/nvidia_devices.json";
    if (auto known = recall(file, state)) return *known;
    const std::vector<DeviceInfo> devices = ask();
    Json list = Json::array();
    for (const DeviceInfo& device : devices) list.push_back(json_of(device));
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const Json known = {{"state", state}, {"devices", list}};
    if (!error)
        (void)base::write_file_atomically(file, known.dump(-1, ' ', false, Json::error_handler_t::replace));
    return devices;
}

}  // namespace switchyard::machine
