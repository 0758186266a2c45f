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

const ValueLimits a_rate{.min = 1e-6, .max = 1e9};

// Calls `read` with the table of that name, if it is there.
template <class Read>
void with_table(config::TomlTable& table, const std::string& key, config::TomlReport& report,
                const Read& read) {
    const config::Node* node = table.find(key);
    if (node == nullptr) return;
    if (node->kind != config::Node::Kind::table) return table.wrong(*node, key, "a table: [" + key + "]");
    config::TomlTable inner(*node, key + ".", node->place, report);
    read(inner);
    inner.finish();
}

Link read_link(config::TomlTable& table, const std::string& prefix) {
    Link link;
    const auto rate = table.number(prefix + "gbytes_per_second", a_rate);
    const auto latency = table.number(prefix + "latency_us", {.min = 0.0, .max = 1e6});
    if (rate) link.gbytes_per_second = *rate;
    if (latency) link.latency_us = *latency;
    return link;
}

MachineRates read_rates(config::TomlTable& table, config::TomlReport& report) {
    MachineRates rates;
    with_table(table, "speed", report, [&](config::TomlTable& speed) {
        rates.tflops_float32 = speed.number("tflops_float32", a_rate).value_or(0.0);
        rates.tflops_bfloat16 = speed.number("tflops_bfloat16", a_rate).value_or(0.0);
        rates.memory_gbytes_per_second = speed.number("memory_gbytes_per_second", a_rate).value_or(0.0);
    });
    with_table(table, "network", report, [&](config::TomlTable& network) {
        rates.network.ranks_per_host = network.integer("ranks_per_host", 1, 65536, 1);
        rates.network.within = read_link(network, "");
        rates.network.between = read_link(network, "between_hosts_");
    });
    return rates;
}

HostInfo read_host(const config::Node& root, config::TomlReport& report, MachineRates& rates) {
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
    rates = read_rates(table, report);
    table.finish();
    return host;
}

DescribedHost read_description(const std::string& path) {
    const config::FileText file = config::read_guarded(path);
    if (!file.problems.empty()) return {std::nullopt, {}, config::render(file.problems)};
    const config::Document document = config::parse_document(file.text, path);
    if (!document.problems.empty()) return {std::nullopt, {}, config::render(document.problems)};
    config::TomlReport report(path, file.text);
    MachineRates rates;
    HostInfo host = read_host(document.root, report, rates);
    const auto problems = std::move(report).sorted();
    if (!problems.empty()) return {std::nullopt, {}, config::render(problems)};
    host.name = fs::path(path).stem().string();
    return {std::move(host), rates, {}};
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
    return {std::nullopt,
            {},
            "error: no description of a host '" + host + "'; expected one of " + base::joined(known) +
                ", or the path of a .toml file" + (hint.empty() ? "" : "; " + hint) + "\n"};
}

}  // namespace switchyard::machine
