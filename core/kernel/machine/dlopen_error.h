// What the dynamic loader says when it refuses a library, in plain words.
#pragma once

#include <string>

namespace switchyard::machine {

struct LoadError {
    std::string reason;  // "needs the symbol at::foo(), which no library that it names has"
    std::string hint;
};

// `message`: of dlerror(), for the library `path`.
LoadError explain_dlopen_error(const std::string& path, const std::string& message);

// Of a C++ symbol; `symbol` itself if it is none.
std::string demangled(const std::string& symbol);

}  // namespace switchyard::machine
