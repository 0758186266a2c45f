// The fingerprint of the program that will load plugins.
//
// What is fixed when it is compiled stands in the section `switchyard_fingerprint` of the probe program,
// which is built with the same headers and flags as whatever loads plugins. The build ids are those of the
// LibTorch that is mapped: into this process, or, where it has none, into the probe program, whose answer is
// remembered.
#pragma once

#include <string>

#include "core/kernel/loader/fingerprint.h"
#include "core/kernel/loader/probe/mapped_files.h"
#include "core/kernel/loader/probe/probe_cache.h"

namespace switchyard::loader {

inline constexpr const char* fingerprint_section = "switchyard_fingerprint";

struct HostFingerprint {
    Fingerprint fingerprint;
    std::string error;  // this installation cannot load plugins: why; then the fingerprint is empty
    std::string hint;
};

// The probe program that belongs to this one; empty if there is none.
std::string standard_probe_program();

// `mapped`: mapped_files() of this process.
HostFingerprint read_host_fingerprint(const std::string& probe_program, FileIdentities mapped,
                                      const ProbeCache& cache);

}  // namespace switchyard::loader
