#include <algorithm>
#include <filesystem>

#include "core/kernel/base/joined.h"
#include "core/kernel/config/guard_text.h"
#include "core/kernel/config/suggest.h"
#include "core/kernel/config/toml_table.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/machine/program_paths.h"

namespace switchyard::machine {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t many_bytes = std::int64_t{1} << 50;

DeviceInfo read_device(const config::Node& node, int index, config::TomlReport& report) {
    config::TomlTable table(node, "device[" + std::to_string(index) + "].", node.place, report);
    DeviceInfo device;
    device.device = table.choice<Device>("device").value_or(Device::cuda);
    if (device.device == Device::cpu)
        table.conflict(*table.find("device"), "device", "the CPU is always there", "leave it out");
    device.index = index;
    device.name = table.text("name", config::a_line);
    device.compute_capability = static_cast<int>(table.integer("compute_capability", 10, 999));
    device.memory_bytes = table.integer("memory_bytes", 1, many_bytes);
    device.multiprocessors = static_cast<int>(table.integer("multiprocessors", 1, 4096));
    device.shared_memory_per_block_bytes = table.integer("shared_memory_per_block_bytes", 1, 1 << 24);
    table.finish();
    return device;
}

HostInfo read_host(const config::Node& root, config::TomlReport& report) {
    config::TomlTable table(root, "", {1, 1}, report);
    HostInfo host;
    host.described = true;
    host.cpu_model = table.text("cpu_model", config::a_line);
    host.cores = static_cast<int>(table.integer("cores", 1, 65536));
    host.cpu_features = table.list("cpu_features", config::a_name);
    std::sort(host.cpu_features.begin(), host.cpu_features.end());
    host.l2_bytes = table.integer("l2_bytes", 0, many_bytes);
    host.l3_bytes = table.integer("l3_bytes", 0, many_bytes);
    host.memory_bytes = table.integer("memory_bytes", 1, many_bytes);
    host.libtorch_version = SWITCHYARD_LIBTORCH_VERSION;
    const config::Node* devices = table.find("device");
    if (devices != nullptr && devices->kind != config::Node::Kind::array)
        table.wrong(*devices, "device", "[[device]], in double brackets");
    for (std::size_t i = 0; devices != nullptr && i < devices->children.size(); ++i) {
        host.devices.push_back(read_device(devices->children[i], static_cast<int>(i), report));
    }
    table.finish();
    return host;
}

DescribedHost read_description(const std::string& path) {
    const config::FileText file = config::read_guarded(path);
    if (!file.problems.empty()) return {std::nullopt, config::render(file.problems)};
    const config::Document document = config::parse_document(file.text, path);
    if (!document.problems.empty()) return {std::nullopt, config::render(document.problems)};
    config::TomlReport report(path, file.text);
    HostInfo host = read_host(document.root, report);
    const auto problems = std::move(report).sorted();
    if (!problems.empty()) return {std::nullopt, config::render(problems)};
    host.name = fs::path(path).stem().string();
    return {std::move(host), {}};
}

std::string descriptions_folder() { return belonging_path("share/switchyard/configs/hosts"); }

}  // namespace

std::vector<std::string> described_host_names() {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(descriptions_folder(), error), end; !error && at != end;
         at.increment(error)) {
        if (at->path().extension() == ".toml") names.push_back(at->path().stem().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

DescribedHost describe(const std::string& host) {
    if (host.find('/') != std::string::npos || fs::path(host).extension() == ".toml")
        return read_description(host);
    const std::vector<std::string> known = described_host_names();
    if (std::find(known.begin(), known.end(), host) != known.end()) {
        return read_description(descriptions_folder() + "/" + host + ".toml");
    }
    const std::string hint = config::did_you_mean(config::suggest(host, known));
    return {std::nullopt, "error: no description of a host '" + host + "'; expected one of " +
                              base::joined(known) + ", or the path of a .toml file" +
                              (hint.empty() ? "" : "; " + hint) + "\n"};
}

}  // namespace switchyard::machine
