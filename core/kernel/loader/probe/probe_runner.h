// Runs the probe program for one library, and tells what became of it. The program gets the environment of
// probe_environment.h, descriptors 0 to 3, and lives as kept_process.h says: nothing of it is left
// afterwards.
#pragma once

#include <chrono>
#include <string>

#include "core/kernel/loader/probe/kept_process.h"
#include "core/kernel/loader/probe/probe_report.h"

namespace switchyard::loader {

// SWITCHYARD_PROBE_TIMEOUT_MS, or 20 s.
std::chrono::milliseconds standard_probe_deadline();

struct ProbeRun {
    std::string program;  // libexec/switchyard/switchyard-probe
    std::string library;  // empty: no plugin, only what the program itself has mapped
    std::chrono::milliseconds deadline = standard_probe_deadline();
    ProcessLimits limits{};
};

// Never throws. A crash, an exit or a deadline that passed becomes the report's failure, with the phase that
// the probe was in. Starts the process with posix_spawn: the caller may have threads, and LibTorch loaded.
// Thread-safe.
ProbeReport run_probe(const ProbeRun& run);

// What the probe program writes, line by line, to the descriptor given as --report-fd:
// "phase<TAB>PHASE<TAB>COMPONENT" before it enters a phase, "loaded<TAB>JSON", a report of what is known once
// the plugin is loaded, and at the end "report<TAB>JSON".
struct ProbeTranscript {
    std::string lines;
    std::string output;  // the last KiB that the plugin printed
    bool timed_out = false;
    bool too_long = false;  // more lines than any probe writes
    int wait_status = 0;    // of waitpid
    std::chrono::milliseconds deadline{0};
    ProcessLimits limits{};
};

ProbeReport read_transcript(const ProbeTranscript& transcript);

}  // namespace switchyard::loader
