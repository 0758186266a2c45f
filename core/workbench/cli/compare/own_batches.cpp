#include "core/workbench/cli/compare/own_batches.h"

#include <utility>
#include <vector>

#include "core/workbench/cli/compare/started_arms.h"
#include "core/workbench/compare/experiment/arm_requests.h"

namespace switchyard::cli {

std::string write_own_batches(const compare::Preparation& what, const CheckedArms& arms,
                              const ArmMessages& messages, compare::Operation operation, double timeout_ms,
                              compare::ArmGuard& guard, const std::function<bool()>& stop) {
    const auto message = messages.batch_writer(what);
    if (!message) return "";
    const auto& writer = arms.arms[arms.reference_arm];
    compare::ArmOutcome outcome;
    std::vector<compare::StartedArm> started(1);
    started.front().client = start_arm(writer, guard, stop, started.front().error);
    compare::ArmRequests requests(
        std::move(started), timeout_ms, [&](std::size_t) -> compare::ArmOutcome& { return outcome; },
        [](const std::string&) {});
    if (outcome.ok()) requests.prepared(0, *message, operation);
    requests.quit();
    return outcome.ok() ? "" : "its batches could not be written: " + outcome.reason;
}

}  // namespace switchyard::cli
