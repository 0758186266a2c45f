#include "core/workbench/profile/observed_step.h"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"

namespace switchyard::profile {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_points = 2000;  // of a time line, that are read

Json parts_json(const Parts& parts) {
    Json json;
    for (std::size_t i = 0; i < memory_classes; ++i) json[std::string(memory_class_names[i])] = parts[i];
    return json;
}

std::int64_t read_count(const Json& json, const char* key, std::int64_t least = 0) {
    const auto count = base::needed_integer(json, key);
    if (count < least || count > base::limits::arm_count)
        throw base::InputError("\"" + std::string(key) + "\" has a value that is not a count");
    return count;
}

double read_amount(const Json& json, const char* key) {
    const double value = base::needed_number(json, key);
    if (!(value >= 0.0)) throw base::InputError("\"" + std::string(key) + "\" is below 0");
    return value;
}

// What no block stands for may be less than nothing, where another thread gave back what it had before.
Parts read_parts(const Json& json, const char* key) {
    const auto& object = base::needed(json, key);
    Parts parts{};
    for (std::size_t i = 0; i < memory_classes; ++i)
        parts[i] = read_count(object, memory_class_names[i].data(), -base::limits::arm_count);
    return parts;
}

}  // namespace

Json memory_json(const MemoryProfile& memory) {
    auto layers = Json::array(), line = Json::array();
    for (const auto& [layer, bytes] : memory.layers) layers.push_back({{"layer", layer}, {"bytes", bytes}});
    for (const auto& point : memory.line)
        line.push_back({{"ms", point.ms}, {"bytes", point.total()}, {"parts", parts_json(point.parts)}});
    return {{"peak_bytes", memory.peak.total()},
            {"peak_at_ms", memory.peak.ms},
            {"parts_at_peak", parts_json(memory.peak.parts)},
            {"most_activations", layers},
            {"allocations", memory.allocations},
            {"step_ms", memory.step_ms},
            {"line", line}};
}

Json to_json(const ObservedStep& step) {
    return {{"samples", step.samples},
            {"tokens", step.tokens},
            {"flops", step.cost.flops},
            {"read_bytes", step.cost.read},
            {"written_bytes", step.cost.written},
            {"memory", memory_json(step.memory)}};
}

ObservedStep read_observed_step(const Json& json) {
    ObservedStep step;
    step.samples = read_count(json, "samples");
    step.tokens = read_count(json, "tokens");
    step.cost = {read_amount(json, "flops"), read_amount(json, "read_bytes"),
                 read_amount(json, "written_bytes")};
    const auto& memory = base::needed(json, "memory");
    step.memory.peak = {read_amount(memory, "peak_at_ms"), read_parts(memory, "parts_at_peak")};
    step.memory.step_ms = read_amount(memory, "step_ms");
    step.memory.allocations = static_cast<std::size_t>(read_count(memory, "allocations"));
    for (const auto& layer : base::needed_list(memory, "most_activations"))
        step.memory.layers.emplace_back(base::needed_text(layer, "layer"), read_count(layer, "bytes"));
    const auto& line = base::needed_list(memory, "line");
    if (line.size() > most_points)
        throw base::InputError("\"line\" has more than " + std::to_string(most_points) + " points");
    for (const auto& point : line) {
        const double before = step.memory.line.empty() ? 0.0 : step.memory.line.back().ms;
        step.memory.line.push_back({read_amount(point, "ms"), read_parts(point, "parts")});
        if (step.memory.line.back().ms < before)
            throw base::InputError("\"line\" is not in the order of time");
    }
    return step;
}

}  // namespace switchyard::profile
