#include "core/workbench/device_graph/capture_refusals.h"

#include <algorithm>

#include <switchyard/interfaces/component_property.h>

namespace switchyard::device_graph {
namespace {

// Empty: its calls can be captured.
std::string why_not(const runtime::BindingBase& binding) {
    const char* const answer = binding.answer(graph_capture_property);
    return answer == nullptr ? "it does not say that its calls can be captured" : answer;
}

}  // namespace

std::string capture_refusal(const runtime::BindingBase& binding, const std::string& key,
                            const std::string& reason) {
    return key + ": " + binding.describe() + ": " + reason + "; choose another backend, or " + key +
           " = false";
}

std::vector<std::string> capture_refusals(const std::vector<const runtime::BindingBase*>& bindings,
                                          const std::string& key) {
    std::vector<std::string> lines;
    for (const auto* binding : bindings) {
        const auto reason = why_not(*binding);
        if (reason.empty()) continue;
        auto line = capture_refusal(*binding, key, reason);
        if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace switchyard::device_graph
