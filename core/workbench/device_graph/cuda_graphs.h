// The device's own graphs: in a library beside this program that needs LibTorch's CUDA half
// (cuda_graph_maker.cpp), opened where a job asks for graphs and nowhere else.
#pragma once

#include <memory>
#include <string>

#include "core/workbench/device_graph/device_graph.h"

namespace switchyard::device_graph {

struct CudaGraphs {
    std::unique_ptr<GraphMaker> maker;  // nullptr: `error` says why
    std::string error;
};

// After machine::load_libtorch_cuda. The library stays open.
// `key`: of the configuration, which asks for them.
CudaGraphs load_cuda_graphs(const std::string& key);

inline constexpr const char* cuda_graphs_library = "libexec/switchyard/libswitchyard_cuda_graphs.so";
inline constexpr const char* cuda_graphs_symbol = "switchyard_cuda_graphs_v1";

}  // namespace switchyard::device_graph
