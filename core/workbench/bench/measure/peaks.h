// What the machine itself gives, measured in the run whose results are set against it: products of matrices
// for each dtype - whole ones, or tiles that stay in the cache, whichever is faster - and memory at a
// footprint outside the caches.
//
// A peak is the best of many short samples spread over the run, since everything that disturbs it makes it
// lower. No LibTorch here: peak_meter.h measures.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include <switchyard/interfaces/types.h>

namespace switchyard::bench {

struct Peaks {
    std::map<DType, double>
        matmul_gflops;  // 10^9 operations a second, a multiplication and an addition being two
    std::map<DType, std::string> matmul_of;  // what reached it: "mm of 2048 x 2048", "tiles of 64 x 256 x 64"
    double copy_gbytes_per_second = 0.0;     // 10^9 bytes read and written
    double read_gbytes_per_second = 0.0;
    std::int64_t buffer_bytes = 0;  // of each of the two buffers

    // NaN if it was not measured.
    double matmul(DType dtype) const {
        const auto found = matmul_gflops.find(dtype);
        return found == matmul_gflops.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
    }
};

}  // namespace switchyard::bench
