#include "core/kernel/loader/plugin_record.h"

#include <algorithm>
#include <filesystem>

#include "core/kernel/base/printable.h"

namespace switchyard::loader {

GateOutcome passed(Gate gate) { return {gate, true, {}, {}, {}, {}}; }

GateOutcome refused(Gate gate, std::string reason, std::string expected, std::string got, std::string hint) {
    return {gate, false, std::move(reason), std::move(expected), std::move(got), std::move(hint)};
}

const GateOutcome* PluginRecord::failure() const {
    const auto found =
        std::find_if(gates.begin(), gates.end(), [](const GateOutcome& gate) { return !gate.passed; });
    return found == gates.end() ? nullptr : &*found;
}

bool PluginRecord::usable() const { return !gates.empty() && failure() == nullptr; }

std::string PluginRecord::component_failure(Kind kind, std::string_view id) const {
    const ComponentProbe* component = probe ? probe->find(kind, id) : nullptr;
    return component != nullptr && component->failure ? to_string(*component->failure) : std::string{};
}

const ComponentTrust* PluginRecord::trust_of(Kind kind, std::string_view id) const {
    const auto found = std::find_if(trust.begin(), trust.end(),
                                    [&](const auto& one) { return one.kind == kind && one.id == id; });
    return found == trust.end() ? nullptr : &*found;
}

std::string PluginRecord::display_name() const {
    return manifest ? manifest->name : std::filesystem::path(path).filename().string();
}

std::string explain(const PluginRecord& record) {
    const GateOutcome* failure = record.failure();
    if (failure == nullptr) return {};
    std::string text = base::printable(record.path) + ": refused at gate " +
                       std::string(name(failure->gate)) + ": " + failure->reason;
    if (!failure->expected.empty()) text += "; expected " + failure->expected;
    if (!failure->got.empty()) text += ", got " + failure->got;
    if (!failure->hint.empty()) text += "; " + failure->hint;
    return text;
}

}  // namespace switchyard::loader
