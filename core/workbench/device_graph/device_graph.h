// Capturing work into a graph that a device replays as a whole, behind an interface: the device's own is
// cuda_graph_maker.cpp, tests have one without a device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace switchyard::device_graph {

// Work that was captured. What it allocated lives as long as it does.
class DeviceGraph {
public:
    virtual ~DeviceGraph() = default;
    // Runs it once more on the tensors that it was captured with.
    virtual void replay() = 0;
};

struct GraphCounts {
    std::int64_t captures = 0;
    std::int64_t replays = 0;
    std::int64_t uncaptured = 0;  // steps: warm-ups, and those of more shapes than there may be graphs

    bool any() const { return captures + replays + uncaptured > 0; }
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
    virtual std::unique_ptr<DeviceGraph> capture(const Work& work) = 0;
};

}  // namespace switchyard::device_graph
