#include "core/workbench/train/graph/cuda_graphs.h"

#include <dlfcn.h>

#include "core/kernel/machine/dlopen_error.h"
#include "core/kernel/machine/program_paths.h"

namespace switchyard::train {

CudaGraphs load_cuda_graphs() {
    const auto path = machine::belonging_path(cuda_graphs_library);
    if (path.empty()) {
        return {nullptr, "train.cuda_graph: " + std::string(cuda_graphs_library) +
                             " is not beside this program: it is built where nvcc is found"};
    }
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* const message = library == nullptr ? dlerror() : nullptr;
    if (library == nullptr)
        return {nullptr, "train.cuda_graph: " +
                             machine::explain_dlopen_error(path, message == nullptr ? "" : message).reason};
    using Make = GraphMaker*();
    auto* const make = reinterpret_cast<Make*>(dlsym(library, cuda_graphs_symbol));
    if (make == nullptr)
        return {nullptr,
                "train.cuda_graph: " + path + " exports no " + cuda_graphs_symbol + ": build it again"};
    return {std::unique_ptr<GraphMaker>(make()), ""};
}

}  // namespace switchyard::train
