#include <switchyard/host/discovery/host_fingerprint.h>

#include <switchyard/host/discovery/elf_image.h>
#include <switchyard/host/program_paths.h>

namespace switchyard::host {

std::string standard_probe_program() { return belonging_path("libexec/switchyard/switchyard-probe"); }

HostFingerprint read_host_fingerprint(const std::string& probe_program, const LibrarySearch& libraries,
                                      const ProbeCache& cache) {
    const std::string again = "build or install Switchyard again";
    if (probe_program.empty())
        return {{}, "libexec/switchyard/switchyard-probe does not exist beside this program", again};
    const ElfResult elf = read_elf(probe_program, {.section = fingerprint_section});
    if (elf.error != ElfError::none) return {{}, probe_program + " " + elf.message, again};
    // The section is padded with zeros.
    const std::string text = elf.image.section.value_or("");
    auto fingerprint = parse_fingerprint(text.substr(0, text.find('\0')));
    if (!fingerprint || fingerprint->empty()) return {{}, probe_program + " has no fingerprint in it", again};
    for (const LibraryProblem& problem : libraries.program_problems())
        return {{}, probe_program + " " + problem.reason, problem.hint};
    for (const std::string library : {"libtorch_cpu", "libc10"}) {
        (*fingerprint)[library + "_build_id"] = cache.library_id(libraries.loaded(library + ".so"));
    }
    return {*fingerprint, {}, {}};
}

}  // namespace switchyard::host
