// Graphs of training steps, one for each bucket of shapes: the tensors of a step's batches are copied to
// where the graph reads them, then the graph is replayed.
//
// A shape that comes for the first time is run uncaptured (warm-up), then captured. Replays read and write
// the same memory each time; whatever changes from step to step must come through tensors (the method:
// PyTorch's "CUDA graphs" notes, and the CUDA programming guide, "CUDA Graphs").
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <switchyard/interfaces/batch.h>
#include "core/workbench/device_graph/captured_work.h"

namespace switchyard::train {

class StepGraphs {
public:
    using Body = std::function<void(std::vector<Batch>& batches)>;

    // Each graph keeps the activations of its shape: so many, and what comes in other shapes runs uncaptured.
    static constexpr std::size_t most_graphs = 16;

    // `maker` outlives it. `body` must read the host's state as it is for all steps.
    StepGraphs(device_graph::GraphMaker& maker, Body body) : maker_(maker), body_(std::move(body)) {}

    // `body` on these batches, by a graph where there is one for their shapes.
    void run(std::vector<Batch>& batches);

    // After tensors that the body reads or writes were replaced by others: everything is captured anew.
    void forget() { buckets_.clear(); }

    const device_graph::GraphCounts& counts() const { return counts_; }
    std::size_t buckets() const { return buckets_.size(); }

private:
    struct Bucket {
        std::vector<Batch> batches;  // stay where they are
        device_graph::CapturedWork step;
    };
    Bucket* bucket_for(const std::vector<Batch>& batches);

    device_graph::GraphMaker& maker_;
    Body body_;
    std::map<std::string, Bucket> buckets_;
    device_graph::GraphCounts counts_;
};

// What must be equal for one graph to serve: shapes and dtypes of every tensor, and the numbers beside them.
// "16x128 i64 ..."
std::string shapes_of(const std::vector<Batch>& batches);

}  // namespace switchyard::train
