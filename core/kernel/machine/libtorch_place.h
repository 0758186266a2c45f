// Where LibTorch lies, for the program that has none of it in itself and starts those that do. Where a
// package was installed on another machine it is seldom where it was when Switchyard was built.
//
// Looked for in this order: the folder that SWITCHYARD_LIBTORCH names, where it was to be or was when
// this program was built, lib/switchyard/libtorch beside this program, and, as CMake does, under the
// folders of CMAKE_PREFIX_PATH. A folder is one that has lib/libtorch_cpu.so: an unpacked archive of
// LibTorch, or "torch" in Python's site-packages.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace switchyard::machine {

struct LibTorchPlace {
    std::string libraries;  // the folder of libtorch_cpu.so; empty: found nowhere
    bool built_in = false;  // programs find it by themselves
    std::string problem;    // why there is none, in one or more lines; empty: there is
    std::string hint;       // what to do then
};

struct LibTorchSearch {
    std::string built_in;    // folder of the libraries, which installed programs look into by themselves
    std::string built_with;  // the one that Switchyard was built with
    std::string beside;      // lib/switchyard/libtorch
    std::string version;     // "2.11.0": of the one that this was built with
    std::function<std::string(const char*)> variable;  // of the environment; empty: not set
};

LibTorchSearch standard_libtorch_search();
// Nothing is loaded: what its files say counts, and a LibTorch of another version is a problem.
LibTorchPlace find_libtorch(const LibTorchSearch& search);

// Puts the folder in front of LD_LIBRARY_PATH, which programs started from here on go by, unless they
// find LibTorch by themselves.
void lead_to(const LibTorchPlace& place);

}  // namespace switchyard::machine
