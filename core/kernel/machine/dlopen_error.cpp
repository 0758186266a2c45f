#include "core/kernel/machine/dlopen_error.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace switchyard::machine {

namespace {

// What stands between `begin` and one of `ends`; empty if `begin` does not occur.
std::string after(const std::string& text, const std::string& begin, const char* ends) {
    const auto at = text.find(begin);
    if (at == std::string::npos) return {};
    const auto start = at + begin.size();
    return text.substr(start, text.find_first_of(ends, start) - start);
}

}  // namespace

std::string demangled(const std::string& symbol) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && text ? text.get() : symbol;
}

LoadError explain_dlopen_error(const std::string& path, const std::string& message) {
    if (const std::string symbol = after(message, "undefined symbol: ", " \t\n,()"); !symbol.empty()) {
        return {"needs the symbol " + demangled(symbol) + ", which no library that it names has",
                "link the library that has it, or build the plugin with this program's LibTorch"};
    }
    if (message.find("cannot open shared object file") != std::string::npos) {
        const std::string library = message.substr(0, message.find(':'));
        if (library != path)
            return {"needs " + library + ", which was not found",
                    "install it, or put its folder into LD_LIBRARY_PATH"};
    }
    if (const std::string version = after(message, ": version `", "'"); !version.empty()) {
        return {"needs " + version + ", which " + message.substr(0, message.find(": version `")) +
                    " does not have",
                "rebuild it on this system, or on an older one"};
    }
    const bool named = message.compare(0, path.size() + 2, path + ": ") == 0;
    return {"the loader refuses it: " + (named ? message.substr(path.size() + 2) : message),
            "build it again"};
}

}  // namespace switchyard::machine
