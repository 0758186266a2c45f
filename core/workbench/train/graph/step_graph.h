// Capturing work into a graph that a device replays as a whole, behind an interface: the device's own is
// cuda_step_graphs.cpp, tests have one without a device.
#pragma once

#include <functional>
#include <memory>

namespace switchyard::train {

// Work that was captured. What it allocated lives as long as it does.
class StepGraph {
public:
    virtual ~StepGraph() = default;
    // Runs it once more on the tensors that it was captured with.
    virtual void replay() = 0;
};

class GraphMaker {
public:
    using Work = std::function<void()>;
    virtual ~GraphMaker() = default;
    // Runs `work` as it will be captured: on the same stream, so that libraries make their handles and
    // workspaces before.
    virtual void warm_up(const Work& work) = 0;
    // Captures what `work` asks of the device, which does not run yet. Throws what `work` throws, or what the
    // device refuses.
    virtual std::unique_ptr<StepGraph> capture(const Work& work) = 0;
};

}  // namespace switchyard::train
