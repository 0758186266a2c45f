// An arm in a process of its own: started once, stopped by SIGSTOP whenever it is not asked something.
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

#include "core/workbench/compare/arms/arm_guard.h"
#include "core/workbench/compare/arms/arm_link.h"

namespace switchyard::compare {

struct ArmProgram {
    std::vector<std::string>
        words;           // the program, looked for in PATH unless it has a slash, and its arguments
    std::string folder;  // that it runs in; empty: this process's
};

class ArmProcess final : public ArmLink {
public:
    // `error` says why it could not be started; then nothing is returned. `guard` outlives it. `stop`: looked
    // at while it waits.
    static std::unique_ptr<ArmProcess> start(const ArmProgram& program, ArmGuard& guard,
                                             std::function<bool()> stop, std::string& error);
    ~ArmProcess() override;
    ArmProcess(const ArmProcess&) = delete;
    ArmProcess& operator=(const ArmProcess&) = delete;

    Exchange ask(const std::string& line, double timeout_ms) override;
    void leave() override;
    void end() override;
    std::string last_words() const override;

private:
    ArmProcess(ArmGuard& guard, std::function<bool()> stop) : guard_(guard), stop_(std::move(stop)) {}
    Exchange wait_for_line(const std::string& line, double timeout_ms);
    bool take_output(Exchange& exchange);
    void freeze();
    std::string how_it_ended();

    ArmGuard& guard_;
    std::function<bool()> stop_;
    pid_t child_ = -1;
    int input_ = -1, output_ = -1, errors_ = -1;  // ours: the arm's standard streams
    std::string read_;                            // of its output, not yet asked for
    std::string tail_;                            // of its errors
};

}  // namespace switchyard::compare
