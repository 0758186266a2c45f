// What the host's part of a CUDA component needs to know of where it runs. Plain C++; where a stream comes
// from is the caller's. Since 1.0.
#pragma once

#include <cstddef>

namespace switchyard::device {

struct Queue {
    void* stream = nullptr;  // cudaStream_t
    int multiprocessors = 1;
    bool pins = false;       // memory that is sent is pinned
    bool capturing = false;  // the stream is being captured into a graph
    // From memory of the host, in the stream's order. Only called while capturing.
    void (*copy)(void* to, const void* from, std::size_t bytes, void* stream) = nullptr;
};

}  // namespace switchyard::device
