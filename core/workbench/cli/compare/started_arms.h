// Arms of a comparison as processes, and the folder that they share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/workbench/compare/arms/arm_guard.h"
#include "core/workbench/compare/experiment/arm_requests.h"

namespace switchyard::cli {

// A folder of one comparison's own, gone with it.
class ArmFolder {
public:
    ArmFolder();  // throws Failure where it cannot be made
    ~ArmFolder();
    ArmFolder(const ArmFolder&) = delete;
    ArmFolder& operator=(const ArmFolder&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

// One of them; nullptr where it cannot be, `error` says why.
std::unique_ptr<compare::ArmClient> start_arm(const compare::ArmSpec& arm, compare::ArmGuard& guard,
                                              const std::function<bool()>& stop, std::string& error);

// `guard` outlives them. `stop`: looked at while they are waited for.
std::vector<compare::StartedArm> start_arms(const std::vector<compare::ArmSpec>& arms,
                                            compare::ArmGuard& guard, const std::function<bool()>& stop);

}  // namespace switchyard::cli
