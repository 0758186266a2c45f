// Plugin records as text and JSON, shared by the commands that show them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/kernel/loader/plugin_record.h"

namespace switchyard::cli {

// "usable", or "refused: fingerprint".
std::string state_of(const loader::PluginRecord& record);

// A plugin that is refused because the configuration says so, or because another of its name came first, is
// nobody's fault.
bool is_fault(const loader::PluginRecord& record);

// Those of which not even the manifest could be read, which are nobody's candidates, with the reasons; empty:
// none.
std::string refused_libraries(const std::vector<loader::PluginRecord>& records);

// "attention, loss" for components that are called as their plugin, "precision (fp32, bf16)" for others.
std::string components_of(const loader::Manifest& manifest);

// Where it stands, whether it can be used and why not, its components.
nlohmann::ordered_json summary_json(const loader::PluginRecord& record);

// The same with manifest, fingerprint, gates and what the probe found out.
nlohmann::ordered_json full_json(const loader::PluginRecord& record);

// What one component serves on one device, of what the probe asked it.
struct DeviceSupport {
    Device device = Device::cpu;
    std::string host;  // whom it was asked for
    std::map<std::string, std::vector<std::string>>
        dtypes;  // by the formulas served with them, where a kind has several
    // "layout padded; masks all but soft_cap; also dropout": with the dtypes that it holds for.
    std::vector<std::pair<std::string, std::vector<std::string>>> around;
    std::vector<std::string> refusals;  // "float64: dtype: expected ..., got ..."
};
// "float32, bfloat16 (layer_norm, rms_norm)"; empty if nothing is.
std::string served_text(const DeviceSupport& device);
// What else it serves there, one thing changed at a time: a line for the dtypes that it is the same for.
std::vector<std::string> around_lines(const DeviceSupport& device);
std::vector<DeviceSupport> support_of(const loader::ComponentProbe& probe);

}  // namespace switchyard::cli
