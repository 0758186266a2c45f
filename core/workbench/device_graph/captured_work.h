// Work that comes again and again, run as it is until libraries have made what they make once, then captured
// into a graph, then replayed.
#pragma once

#include <memory>
#include <string>

#include "core/workbench/device_graph/device_graph.h"

namespace switchyard::device_graph {

class CapturedWork {
public:
    // What it is in an error, "this step", and the key that asks for graphs.
    struct Name {
        std::string what, key;
    };
    // The same work each time, on the same tensors. Throws std::runtime_error where it cannot be captured.
    void run(GraphMaker& maker, GraphCounts& counts, const GraphMaker::Work& work, const Name& name);

private:
    int warm_ups_ = 0;
    std::unique_ptr<DeviceGraph> graph_;
};

}  // namespace switchyard::device_graph
