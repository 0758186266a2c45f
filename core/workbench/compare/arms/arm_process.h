// An arm in a process of its own: started once, stopped by SIGSTOP whenever it has no request to answer.
//
// It leads a process group, and signals go to the group: what it starts sleeps, wakes and dies with it. The
// kernel kills it when the coordinator ends (PR_SET_PDEATHSIG), an ArmGuard whatever it has started.
//
// No LibTorch here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/kernel/base/child_process.h"
#include "core/workbench/compare/arms/arm_client.h"
#include "core/workbench/compare/arms/arm_guard.h"

namespace switchyard::compare {

class ArmProcess final : public ArmClient {
public:
    // `error` says why it could not be started; then nothing is returned. `guard` outlives it. `stop`: looked
    // at while it waits.
    static std::unique_ptr<ArmProcess> start(const base::Program& program, ArmGuard& guard,
                                             std::function<bool()> stop, std::string& error);
    ~ArmProcess() override;
    ArmProcess(const ArmProcess&) = delete;
    ArmProcess& operator=(const ArmProcess&) = delete;

    Exchange request(const std::string& line, double timeout_ms) override;
    void quit() override { quit(1000.0); }
    void quit(double grace_ms);  // that it has to end by itself
    void kill() override;
    std::string stderr_tail() const override;

private:
    ArmProcess(ArmGuard& guard, std::function<bool()> stop) : guard_(guard), stop_(std::move(stop)) {}
    Exchange wait_for_line(const std::string& line, double timeout_ms);
    bool take_output(Exchange& exchange);
    void freeze();
    bool has_ended() const;
    std::string exit_text();

    ArmGuard& guard_;
    std::function<bool()> stop_;
    pid_t child_ = -1;
    int input_ = -1, output_ = -1, errors_ = -1;  // ours: the arm's standard streams
    std::string read_;                            // of its output, not yet taken
    std::string tail_;                            // of its errors
};

}  // namespace switchyard::compare
