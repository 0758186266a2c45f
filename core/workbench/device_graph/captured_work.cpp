#include "core/workbench/device_graph/captured_work.h"

#include <stdexcept>

namespace switchyard::device_graph {
namespace {

// The first capture needs what libraries and autograd make once: handles, workspaces, gradients.
constexpr int first_warm_ups = 2, later_warm_ups = 1;

}  // namespace

void CapturedWork::run(GraphMaker& maker, GraphCounts& counts, const GraphMaker::Work& work,
                       const Name& name) {
    if (graph_ == nullptr) {
        if (warm_ups_ < (counts.captures == 0 ? first_warm_ups : later_warm_ups)) {
            ++warm_ups_;
            ++counts.uncaptured;
            return maker.warm_up(work);
        }
        try {
            graph_ = maker.capture(work);
        } catch (const std::exception& error) {
            throw std::runtime_error(name.what + " cannot be captured into a CUDA graph: " + error.what() +
                                     "; set " + name.key + " = false");
        }
        ++counts.captures;
    }
    graph_->replay();
    ++counts.replays;
}

}  // namespace switchyard::device_graph
