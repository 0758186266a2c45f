#include "core/kernel/loader/host_fingerprint.h"

#include "core/kernel/loader/elf_image.h"
#include "core/kernel/loader/probe/probe_environment.h"
#include "core/kernel/loader/probe/probe_runner.h"
#include "core/kernel/machine/address_sanitizer.h"
#include "core/kernel/machine/dlopen_error.h"
#include "core/kernel/machine/program_paths.h"

namespace switchyard::loader {

namespace {

// The report of the probe program about itself.
ProbeReport ask_program(const std::string& program, const ProbeCache& cache) {
    CacheKey key{program, loader_variables()};
    if (auto known = cache.find(key)) return std::move(*known);
    ProbeReport report = ProbeProcess({program}).probe({});
    if (!report.failure) cache.store(key, report);
    return report;
}

HostFingerprint cannot_run(const std::string& program, const ProbeReport& report) {
    constexpr std::string_view loader = "error while loading shared libraries: ";
    const auto at = report.output.find(loader);
    if (at == std::string::npos) {
        return {{}, program + " cannot run: " + to_string(*report.failure), report.failure->hint};
    }
    const auto begin = at + loader.size();
    const machine::LoadError error = machine::explain_dlopen_error(
        program, report.output.substr(begin, report.output.find('\n', begin) - begin));
    return {{}, program + " " + error.reason, error.hint};
}

}  // namespace

std::string standard_probe_program() {
    return machine::belonging_path("libexec/switchyard/switchyard-probe");
}

HostFingerprint read_host_fingerprint(const std::string& probe_program, FileIdentities mapped,
                                      const ProbeCache& cache) {
    const std::string again = "build or install Switchyard again";
    if (probe_program.empty())
        return {{}, "libexec/switchyard/switchyard-probe does not exist beside this program", again};
    const ElfResult elf = read_elf(probe_program, fingerprint_section);
    if (elf.error != ElfError::none) return {{}, probe_program + " " + elf.message, again};
    // The section is padded with zeros.
    const std::string text = elf.image.section.value_or("");
    auto fingerprint = parse_fingerprint(text.substr(0, text.find('\0')));
    if (!fingerprint || fingerprint->empty()) return {{}, probe_program + " has no fingerprint in it", again};
    if (path_of("libtorch_cpu.so", mapped).empty()) {
        const ProbeReport report = ask_program(probe_program, cache);
        if (report.failure) return cannot_run(probe_program, report);
        mapped = report.files;
    }
    for (const std::string library : {"libtorch_cpu", "libc10"})
        (*fingerprint)[library + "_build_id"] = cache.library_id(path_of(library + ".so", mapped));
    if (machine::address_sanitizer_runs()) fingerprint->emplace(sanitizer_runs, "yes");
    return {*fingerprint, {}, {}};
}

}  // namespace switchyard::loader
