// Measures what peaks.h holds, a little at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/types.h>
#include "core/workbench/bench/measure/peaks.h"
#include "core/workbench/bench/measure/stopwatch.h"

namespace switchyard::bench {

// Bytes of one buffer: at least four times the last cache and 64 MB, at most a 16th of the memory.
std::int64_t peak_buffer_bytes(const HostInfo& host, c10::Device device);

class PeakMeter {
public:
    // Allocates the buffers, from the same allocator as everything else, when the first sample is taken.
    PeakMeter(std::vector<DType> dtypes, c10::Device device, const HostInfo& host, Stopwatch& stopwatch);
    ~PeakMeter();
    PeakMeter(const PeakMeter&) = delete;
    PeakMeter& operator=(const PeakMeter&) = delete;

    // Takes some tenths of a second. Call it several times over a run.
    void sample();
    // Of matrix products alone, which takes some hundredths.
    void sample_products();
    // Of that product alone, named as Peaks::matmul_of names what reached a peak of that dtype. False: there
    // is none of that name, and nothing was measured.
    bool sample_product(DType dtype, const std::string& of);
    const Peaks& peaks() const;

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace switchyard::bench
