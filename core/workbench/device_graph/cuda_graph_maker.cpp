// Graphs by at::cuda::CUDAGraph, on a stream of their own, as LibTorch's allocator and autograd want it: work
// on that stream is in order with what came before and what comes after because both ends wait. All graphs
// share one pool of memory: none of their tensors but the inputs, the gradients and the results, which lie
// outside of it, outlives a replay.
#include <memory>
#include <utility>

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "core/workbench/device_graph/device_graph.h"

namespace switchyard::device_graph {
namespace {

class CudaGraph final : public DeviceGraph {
public:
    at::cuda::CUDAGraph graph;
    void replay() override { graph.replay(); }
};

class CudaGraphMaker final : public GraphMaker {
public:
    void warm_up(const Work& work) override {
        c10::cuda::getCurrentCUDAStream().synchronize();
        {
            const c10::cuda::CUDAStreamGuard on(stream_);
            work();
        }
        stream_.synchronize();
    }

    std::unique_ptr<DeviceGraph> capture(const Work& work) override {
        c10::cuda::getCurrentCUDAStream().synchronize();
        auto made = std::make_unique<CudaGraph>();
        const c10::cuda::CUDAStreamGuard on(stream_);
        made->graph.capture_begin(pool_);
        try {
            work();
        } catch (...) {
            abandon(made->graph);
            throw;
        }
        made->graph.capture_end();
        return made;
    }

private:
    // The capture is invalid by now, and to end it is an error of its own that says less.
    static void abandon(at::cuda::CUDAGraph& graph) {
        try {
            graph.capture_end();
        } catch (...) {
        }
    }

    c10::cuda::CUDAStream stream_ = c10::cuda::getStreamFromPool();
    at::cuda::MempoolId_t pool_ = at::cuda::graph_pool_handle();
};

}  // namespace
}  // namespace switchyard::device_graph

extern "C" [[gnu::visibility("default")]] switchyard::device_graph::GraphMaker* switchyard_cuda_graphs_v1() {
    return new switchyard::device_graph::CudaGraphMaker;
}
