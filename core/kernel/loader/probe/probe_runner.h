// Runs the probe program, and tells what became of each library that it was given. The program gets the
// environment of probe_environment.h, descriptors 0 to 3, and each library lives as kept_process.h says:
// nothing of it is left afterwards.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/kernel/loader/probe/kept_process.h"
#include "core/kernel/loader/probe/probe_report.h"

namespace switchyard::loader {

// SWITCHYARD_PROBE_TIMEOUT_MS, or 20 s.
std::chrono::milliseconds standard_probe_deadline();

struct ProbeSettings {
    std::string program;                                             // libexec/switchyard/switchyard-probe
    std::chrono::milliseconds deadline = standard_probe_deadline();  // of one library
    ProcessLimits limits{};
};

// A process of the probe program. It has loaded LibTorch once, and probes one library after another, each in
// a process of its own that is forked from it. It starts with the first library, and anew after one that did
// not end as it should. For one thread at a time; several may live at once.
class ProbeProcess {
public:
    explicit ProbeProcess(ProbeSettings settings);
    ~ProbeProcess();
    ProbeProcess(const ProbeProcess&) = delete;
    ProbeProcess& operator=(const ProbeProcess&) = delete;

    // Empty for `library`: no plugin, only what the program itself has mapped. Never throws. A crash, an exit
    // or a deadline that passed becomes the report's failure, with the phase that the probe was in. Starts
    // the process with posix_spawn: the caller may have threads, and LibTorch loaded.
    ProbeReport probe(const std::string& library);

private:
    class Process;
    ProbeSettings settings_;
    std::unique_ptr<Process> process_;
};

// What the probe program writes, line by line, to the descriptor given as --report-fd:
// "phase<TAB>PHASE<TAB>COMPONENT" before it enters a phase, "loaded<TAB>JSON", a report of what is known once
// the plugin is loaded, at the end "report<TAB>JSON", and "ended<TAB>STATUS" (of waitpid) once nothing of the
// library is left.
struct ProbeTranscript {
    std::string lines;
    std::string output;  // the last KiB that the plugin printed
    bool timed_out = false;
    bool too_long = false;  // more lines than any probe writes
    int wait_status = 0;    // of the library's process, or of the program where that ended
    std::chrono::milliseconds deadline{0};
    ProcessLimits limits{};
};

ProbeReport read_transcript(const ProbeTranscript& transcript);

}  // namespace switchyard::loader
