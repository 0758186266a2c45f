// The device's own graphs: in a library beside this program that needs LibTorch's CUDA half
// (cuda_step_graphs.cpp), opened where train.cuda_graph asks for it and nowhere else.
#pragma once

#include <memory>
#include <string>

#include "core/workbench/train/graph/step_graph.h"

namespace switchyard::train {

struct CudaGraphs {
    std::unique_ptr<GraphMaker> maker;  // nullptr: `error` says why
    std::string error;
};

// After machine::load_libtorch_cuda. The library stays open.
CudaGraphs load_cuda_graphs();

inline constexpr const char* cuda_graphs_library = "libexec/switchyard/libswitchyard_cuda_graphs.so";
inline constexpr const char* cuda_graphs_symbol = "switchyard_cuda_graphs_v1";

}  // namespace switchyard::train
