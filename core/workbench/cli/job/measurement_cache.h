// Measurements of earlier runs, one file for each host and what was timed there, which is a class of requests
// with its candidates and their options: CACHE/measured/HOST/SUBJECT.json, both being hashes. Written whole
// or not at all, and apart, so that runs which measure at the same time do not take each other's away.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/resolver/measurement.h"

namespace switchyard::cli {

// All that a time depends on beside the candidates, in words: CPU, threads of LibTorch, allocator, build of
// LibTorch.
std::string host_of_measurements(const HostInfo& host, int threads, const std::string& allocator);

// The day on which something is measured: "2026-11-21".
std::string today();

class MeasurementCache {
public:
    // `cache`: machine::standard_cache_folder(); empty: there is no place for anything.
    MeasurementCache(const std::string& cache, std::string host);

    const std::string& host() const { return host_; }
    const std::string& folder() const { return folder_; }

    // Those of this host. A file that holds none is left out and named in `notes`.
    std::vector<resolver::Measurement> load(std::vector<std::string>& notes) const;
    // Why it could not be written, if so.
    std::optional<std::string> store(const resolver::Measurement& measurement) const;

private:
    std::string host_;
    std::string folder_;
};

}  // namespace switchyard::cli
