// The fingerprint of the program that will load plugins.
//
// What is fixed when it is compiled stands in the section `switchyard_fingerprint` of the probe program, which is built with the same headers
// and flags as whatever loads plugins; the build ids are those of the LibTorch that the loader finds for it now. So no LibTorch is needed to know it.
#pragma once

#include <string>

#include <switchyard/host/discovery/fingerprint.h>
#include <switchyard/host/discovery/library_search.h>
#include <switchyard/host/probe/probe_cache.h>

namespace switchyard::host {

inline constexpr const char* fingerprint_section = "switchyard_fingerprint";

struct HostFingerprint {
    Fingerprint fingerprint;
    std::string error;  // this installation cannot load plugins: why; then the fingerprint is empty
    std::string hint;
};

// The probe program that belongs to this one; empty if there is none.
std::string standard_probe_program();

HostFingerprint read_host_fingerprint(const std::string& probe_program, const LibrarySearch& libraries,
                                      const ProbeCache& cache);

}  // namespace switchyard::host
