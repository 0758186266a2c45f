#include "core/workbench/train/graph/capture_refusals.h"

#include <algorithm>

#include <switchyard/interfaces/component_property.h>

namespace switchyard::train {
namespace {

// Empty: its calls can be captured.
std::string why_not(const runtime::BindingBase& binding) {
    const char* const answer = binding.answer(graph_capture_property);
    return answer == nullptr ? "it does not say that its calls can be captured" : answer;
}

}  // namespace

std::vector<std::string> capture_refusals(const model::BoundPlan& plan,
                                          const runtime::OptimizerOp& optimizer) {
    std::vector<std::string> lines;
    const auto refuse = [&](const runtime::BindingBase& binding, const std::string& reason) {
        auto line = "train.cuda_graph: " + binding.describe() + ": " + reason +
                    "; choose another backend, or train.cuda_graph = false";
        if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
    };
    auto bindings = plan.bindings(Phase::train);
    bindings.push_back(&optimizer.binding());
    for (const auto* binding : bindings) {
        if (const auto reason = why_not(*binding); !reason.empty()) refuse(*binding, reason);
    }
    if (optimizer.reads_on_host())
        refuse(optimizer.binding(),
               "clipping or unscaling is done around it, and reads the norm on the host");
    return lines;
}

}  // namespace switchyard::train
