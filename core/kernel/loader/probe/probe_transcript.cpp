#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <string_view>

#include "core/kernel/loader/probe/probe_runner.h"

namespace switchyard::loader {

namespace {

std::string signal_name(int signal) {
    switch (signal) {
        case SIGSEGV:
            return "SIGSEGV (a memory access that is not allowed)";
        case SIGABRT:
            return "SIGABRT (abort or a failed assertion)";
        case SIGBUS:
            return "SIGBUS (a file became shorter, or no memory)";
        case SIGFPE:
            return "SIGFPE (an arithmetic error)";
        case SIGILL:
            return "SIGILL (an instruction that this processor does not have)";
        case SIGKILL:
            return "SIGKILL (from outside, perhaps for lack of memory)";
        default:
            return "signal " + std::to_string(signal);
    }
}

std::string_view take(std::string_view& text, char until) {
    const auto end = std::min(text.find(until), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    return part;
}

std::string ending(const ProbeTranscript& transcript) {
    if (transcript.timed_out)
        return "did not come back within " + std::to_string(transcript.deadline.count()) +
               " ms and was stopped";
    if (transcript.too_long) return "wrote into the probe's report and was stopped";
    if (WIFSIGNALED(transcript.wait_status) && WTERMSIG(transcript.wait_status) == SIGXCPU)
        return "used up its " + std::to_string(transcript.limits.processor_time.count()) +
               " s of processor time and was stopped";
    if (WIFSIGNALED(transcript.wait_status))
        return "crashed with " + signal_name(WTERMSIG(transcript.wait_status));
    return "ended the process with exit code " + std::to_string(WEXITSTATUS(transcript.wait_status));
}

// What a library says before it gives up is often the best explanation: "terminate called after throwing an
// instance of 'int'".
std::string last_words(std::string_view output) {
    constexpr std::size_t longest = 200;
    while (!output.empty() && (output.back() == '\n' || output.back() == '\r')) output.remove_suffix(1);
    const auto line = output.find_last_of('\n');
    if (line != std::string_view::npos) output.remove_prefix(line + 1);
    return output.empty() ? "" : ", after printing \"" + std::string(output.substr(0, longest)) + "\"";
}

bool ran_out_of_memory(std::string_view text) { return text.find("bad_alloc") != std::string_view::npos; }

std::string memory_hint(const ProbeTranscript& transcript) {
    return "a probe may take " + std::to_string(transcript.limits.memory_bytes >> 20) +
           " MiB of memory; let it take what it needs when it is first called";
}

std::string advice(ProbePhase phase, const ProbeTranscript& transcript) {
    if (transcript.timed_out)
        return "`switchyard plugins doctor --fresh` tries again; SWITCHYARD_PROBE_TIMEOUT_MS sets another "
               "limit";
    if (ran_out_of_memory(transcript.output)) return memory_hint(transcript);
    if (phase == ProbePhase::start) return "run the probe program by hand to see why";
    if (phase == ProbePhase::load)
        return "look at its static objects and constructor functions, which run when it is loaded; "
               "`switchyard plugins doctor --fresh` tries again";
    if (phase == ProbePhase::done)
        return "look at its static objects and threads, which end with the process";
    return "report it to the plugin's vendor";
}

}  // namespace

ProbeReport read_transcript(const ProbeTranscript& transcript) {
    ProbeFailure last;
    ProbeReport report;
    bool complete = false;
    for (std::string_view rest = transcript.lines; !rest.empty() && !complete;) {
        std::string_view line = take(rest, '\n');
        const std::string_view what = take(line, '\t');
        if (what == "phase") {
            last.phase = parse<ProbePhase>(take(line, '\t')).value_or(last.phase);
            last.component = line;
        } else if (what == "loaded" || what == "report") {
            const auto parsed = parse_probe_report(line);
            complete = parsed.has_value() && what == "report";
            if (parsed) report = *parsed;
        }
    }
    report.output = transcript.output;
    const bool ended_well = !transcript.timed_out && !transcript.too_long &&
                            WIFEXITED(transcript.wait_status) && WEXITSTATUS(transcript.wait_status) == 0;
    if (complete && report.failure && ran_out_of_memory(report.failure->text))
        report.failure->hint = memory_hint(transcript);
    if (complete && (ended_well || report.failure)) return report;
    if (complete) last = {ProbePhase::done, {}, {}, {}};
    last.text = ending(transcript) + last_words(transcript.output);
    last.hint = advice(last.phase, transcript);
    report.failure = last;
    return report;
}

}  // namespace switchyard::loader
