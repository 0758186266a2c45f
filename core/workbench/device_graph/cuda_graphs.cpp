#include "core/workbench/device_graph/cuda_graphs.h"

#include <dlfcn.h>

#include "core/kernel/machine/dlopen_error.h"
#include "core/kernel/machine/program_paths.h"

namespace switchyard::device_graph {

CudaGraphs load_cuda_graphs(const std::string& key) {
    const auto path = machine::belonging_path(cuda_graphs_library);
    if (path.empty()) {
        return {nullptr, key + ": " + std::string(cuda_graphs_library) +
                             " is not beside this program: it is built where nvcc is found"};
    }
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* const message = library == nullptr ? dlerror() : nullptr;
    if (library == nullptr)
        return {nullptr,
                key + ": " + machine::explain_dlopen_error(path, message == nullptr ? "" : message).reason};
    using Make = GraphMaker*();
    auto* const make = reinterpret_cast<Make*>(dlsym(library, cuda_graphs_symbol));
    if (make == nullptr)
        return {nullptr, key + ": " + path + " exports no " + cuda_graphs_symbol + ": build it again"};
    return {std::unique_ptr<GraphMaker>(make()), ""};
}

}  // namespace switchyard::device_graph
