#include "core/workbench/cli/compare/started_arms.h"

#include "core/kernel/base/child_process.h"
#include "core/kernel/machine/program_paths.h"
#include "core/workbench/compare/arms/arm_process.h"

namespace switchyard::cli {

std::unique_ptr<compare::ArmClient> start_arm(const compare::ArmSpec& arm, compare::ArmGuard& guard,
                                              const std::function<bool()>& stop, std::string& error) {
    // An arm of this program loads the configuration by the path given here, so it runs here.
    base::Program program =
        arm.external()
            ? base::Program{arm.program, arm.folder}
            : base::Program{std::vector<std::string>{
                                machine::belonging_path("libexec/switchyard/switchyard-run"), "arm"},
                            ""};
    program.environment = arm.environment;
    return compare::ArmProcess::start(program, guard, stop, error);
}

std::vector<compare::StartedArm> start_arms(const std::vector<compare::ArmSpec>& arms,
                                            compare::ArmGuard& guard, const std::function<bool()>& stop) {
    std::vector<compare::StartedArm> started;
    for (const auto& arm : arms) {
        compare::StartedArm one{arm, nullptr, ""};
        one.client = start_arm(arm, guard, stop, one.error);
        started.push_back(std::move(one));
    }
    return started;
}

}  // namespace switchyard::cli
