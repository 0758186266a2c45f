#include "core/workbench/cli/job/measurement_cache.h"

#include <dlfcn.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <utility>

#include <ATen/Parallel.h>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/input_error.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/loader/content_hash.h"
#include "core/kernel/loader/probe/probe_cache.h"
#include "core/kernel/machine/program_paths.h"
#include "core/kernel/resolver/measured.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;

// Of the LibTorch that this process has loaded.
std::string libtorch_build() {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(&at::get_num_threads), &info) == 0 ||
        info.dli_fname == nullptr)
        return "unknown";
    return loader::ProbeCache(machine::standard_cache_folder()).library_id(info.dli_fname);
}

std::string joined_features(const HostInfo& host) {
    std::string text;
    for (const auto& feature : host.cpu_features) text += feature + " ";
    return text;
}

// Nothing where there is none.
std::string joined_devices(const HostInfo& host) {
    std::string text;
    for (const auto& device : host.devices) text += ", " + device.name;
    return text;
}

}  // namespace

std::string host_of_measurements(const HostInfo& host, int threads, const std::string& allocator) {
    return host.cpu_model + ", " + std::to_string(host.cores) + " cores, features " +
           loader::text_hash(joined_features(host)).substr(0, 8) + ", " + std::to_string(threads) +
           " threads, allocator " + allocator + ", LibTorch " + host.libtorch_version + " " +
           libtorch_build() + joined_devices(host);
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    char text[16];
    ::localtime_r(&now, &local);
    std::strftime(text, sizeof text, "%Y-%m-%d", &local);
    return text;
}

MeasurementCache::MeasurementCache(const std::string& cache, std::string host) : host_(std::move(host)) {
    if (!cache.empty()) folder_ = cache + "/measured/" + loader::text_hash(host_).substr(0, 16);
}

std::vector<resolver::Measurement> MeasurementCache::load(std::vector<std::string>& notes) const {
    std::vector<resolver::Measurement> list;
    std::error_code ignored;
    // The latest last: of one subject it counts, also where earlier versions kept it under another name.
    std::vector<std::pair<fs::file_time_type, std::string>> files;
    if (!folder_.empty()) {
        for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
            if (entry.path().extension() == ".json")
                files.emplace_back(entry.last_write_time(ignored), entry.path().string());
        }
    }
    std::sort(files.begin(), files.end());
    for (const auto& [written, path] : files) {
        resolver::ReadMeasurement read;
        try {
            read = resolver::read_measurement(base::read_text(path, base::limits::json_bytes).value_or(""));
        } catch (const base::InputError& error) {
            read.error = error.what();
        }
        if (read.error.empty())
            resolver::take_up(list, std::move(read.measurement));
        else
            notes.push_back(path + ": is not a valid measurement and is ignored: " + read.error);
    }
    return list;
}

std::optional<std::string> MeasurementCache::store(const resolver::Measurement& measurement) const {
    if (folder_.empty())
        return "there is no folder to save them in: SWITCHYARD_CACHE is not set, and neither "
               "XDG_CACHE_HOME nor HOME is an absolute path";
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) return folder_ + ": cannot be created: " + error.message();
    const auto subject = resolver::subject(measurement.shape_class, measurement.candidates);
    return base::write_file_atomically(folder_ + "/" + loader::text_hash(subject).substr(0, 16) + ".json",
                                       resolver::measurement_text(measurement));
}

}  // namespace switchyard::cli
