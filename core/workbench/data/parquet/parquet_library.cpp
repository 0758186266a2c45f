#include "core/workbench/data/parquet/parquet_library.h"

#include <dlfcn.h>

#include "core/kernel/machine/dlopen_error.h"
#include "core/kernel/machine/program_paths.h"

namespace switchyard::data {

std::string parquet_library() {
#ifdef SWITCHYARD_PARQUET
    constexpr auto library = "lib/switchyard/libswitchyard_parquet.so";
    const auto found = machine::belonging_path(library);
    return found.empty() ? machine::installed_path(library) : found;
#else
    return "";
#endif
}

LoadedParquet load_parquet(const std::string& library) {
    if (library.empty())
        return {nullptr, "this build reads no Parquet: run `./dev setup --parquet` and build again"};
    const auto refused = [&](const std::string& reason) {
        return LoadedParquet{nullptr, library + ", which reads Parquet, cannot be loaded: " + reason +
                                          "; run `./dev setup --parquet` and build again"};
    };
    const auto words = [] {
        const char* message = dlerror();
        return std::string(message == nullptr ? "" : message);
    };
    void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) return refused(machine::explain_dlopen_error(library, words()).reason);
    void* const symbol = dlsym(opened, open_parquet_symbol);
    if (symbol == nullptr) return refused(machine::explain_dlopen_error(library, words()).reason);
    return {reinterpret_cast<OpenParquet*>(symbol), ""};
}

}  // namespace switchyard::data
