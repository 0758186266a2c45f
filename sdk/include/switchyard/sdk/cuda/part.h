// The second library of a plugin, libNAME_cuda.so beside libNAME.so (SwitchyardPlugin.cmake), opened where a
// component is created for a CUDA device and nowhere else:
//
//     // in the CUDA library
//     SWITCHYARD_EXPORT switchyard::Attention* switchyard_plugin_cuda_v1(const switchyard::CreateInfo& info);
//
//     // in the base library
//     using Make = switchyard::Attention*(const switchyard::CreateInfo&);
//     if (info.device() == Device::cuda) part_.reset(switchyard::sdk::cuda_part<Make>()(info));
//
// What the function takes and returns is between the two libraries of one plugin. SWITCHYARD_PLUGIN_CUDA is 1
// in the base library if the other was built with it, else 0.
#pragma once

#include <stdexcept>
#include <string>

#include <dlfcn.h>

namespace switchyard::sdk {

// Throws std::runtime_error with the loader's words. The library stays open.
template <class Function>
Function* cuda_part() {
    static const char anchor = 0;  // any address within the base library
    Dl_info own = {};
    if (dladdr(&anchor, &own) == 0 || own.dli_fname == nullptr)
        throw std::runtime_error("the plugin's own library was not found by its address");
    std::string path = own.dli_fname;
    const std::string ending = ".so";
    if (path.size() > ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0)
        path.resize(path.size() - ending.size());
    path += "_cuda.so";
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        throw std::runtime_error(std::string("the plugin's CUDA library could not be opened: ") + dlerror());
    void* const symbol = dlsym(library, "switchyard_plugin_cuda_v1");
    if (symbol == nullptr) throw std::runtime_error(path + " exports no switchyard_plugin_cuda_v1");
    return reinterpret_cast<Function*>(symbol);
}

}  // namespace switchyard::sdk
