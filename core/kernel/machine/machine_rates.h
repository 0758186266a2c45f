// How fast a described machine computes, and what joins it with others: for what is worked out without it.
#pragma once

#include <cstdint>

namespace switchyard::machine {

// What one message from rank to rank takes: latency + bytes / bandwidth (Hockney 1994, "The communication
// challenge for MPI", Parallel Computing 20:389).
struct Link {
    double gbytes_per_second = 0.0;  // of one rank, each way
    double latency_us = 0.0;
    bool known() const { return gbytes_per_second > 0.0; }
};

struct Network {
    Link within;                      // between ranks of one machine
    Link between;                     // between machines, the share of one rank
    std::int64_t ranks_per_host = 1;  // a rank has one device, or the machine where that has none
};

// 0: not known. Of one device, or of a machine without any; at its best, as data sheets tell.
struct MachineRates {
    double tflops_float32 = 0.0;   // products of matrices
    double tflops_bfloat16 = 0.0;  // and of float16
    double memory_gbytes_per_second = 0.0;
    Network network;
};

}  // namespace switchyard::machine
