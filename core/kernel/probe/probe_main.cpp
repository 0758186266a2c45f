// switchyard-probe LIBRARY [--report-fd N] [--memory BYTES] [--processor-time SECONDS]: loads one plugin as
// the host does, asks and calls each of its components, and writes a report (probe_report.h) to descriptor N,
// or to standard output. Run for every plugin that is not known yet; a person may run it, too. It limits
// itself, and ends what the plugin started (kept_process.h). With '' for LIBRARY it tells which libraries it
// has itself. With - it takes libraries from its standard input, a socket with one name a message, and probes
// each in a process of its own: LibTorch, whose start takes longer than a probe, is loaded once (ProbeProcess
// in probe_runner.h).
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <switchyard/interfaces/fingerprint.h>
#include "core/kernel/base/end_process.h"
#include "core/kernel/base/stdout_redirect.h"
#include "core/kernel/base/terminal.h"
#include "core/kernel/loader/elf_image.h"
#include "core/kernel/loader/host_fingerprint.h"
#include "core/kernel/loader/probe/kept_process.h"
#include "core/kernel/loader/probe/mapped_files.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/probe/component_probe.h"

namespace {

using namespace switchyard;
using namespace switchyard::base;
using namespace switchyard::loader;
using namespace switchyard::machine;
using namespace switchyard::runtime;

// What this program is, for those who read its file (host_fingerprint.h).
constexpr auto fingerprint = make_fingerprint("");
__attribute__((section("switchyard_fingerprint"), used, retain)) constexpr auto fingerprint_bytes =
    fingerprint.bytes;

// The plugin may print, close descriptors and end the process: each line is written at once, to a descriptor
// that only this class knows.
class Report {
public:
    // `by_program`: the one who reads it is a program, and wants to know the phases, too.
    Report(int fd, bool by_program) : fd_(fd), by_program_(by_program) {}
    void enter(ProbePhase phase, const std::string& component) const {
        if (by_program_) write_line("phase\t" + std::string(name(phase)) + "\t" + component);
    }
    void loaded(const ProbeReport& report) const {
        if (by_program_) write_line("loaded\t" + to_json(report));
    }
    void finish(const ProbeReport& report) const {
        write_line((by_program_ ? "report\t" : "") + to_json(report));
    }
    // On a line of its own, wherever the plugin broke off.
    void ended(int wait_status) const { write_line("\nended\t" + std::to_string(wait_status)); }

private:
    void write_line(std::string line) const {
        line += '\n';
        for (std::size_t done = 0; done < line.size();) {
            const ssize_t count = ::write(fd_, line.data() + done, line.size() - done);
            if (count <= 0) return;
            done += static_cast<std::size_t>(count);
        }
    }
    int fd_;
    bool by_program_;
};

ProbePhase phase_of(Gate gate) {
    return gate == Gate::load         ? ProbePhase::load
           : gate == Gate::descriptor ? ProbePhase::descriptor
                                      : ProbePhase::init;
}

ProbedHosts hosts_to_ask() {
    ProbedHosts hosts{this_host(Look::with_devices), {}};
    const auto described = describe("h100");
    hosts.cuda = hosts.here.first(Device::cuda) == nullptr && described.host ? *described.host : hosts.here;
    return hosts;
}

bool is_mapped(const std::string& library) {
    const FileIdentities files = mapped_files();
    return std::any_of(files.begin(), files.end(),
                       [itself = file_identity(library)](const auto& file) { return file.second == itself; });
}

// What is mapped beyond `own` and the library itself, and the plugin's second library (cuda/part.h).
FileIdentities brought_along(const std::string& library, const FileIdentities& own) {
    FileIdentities files = mapped_files();
    std::erase_if(files, [&, itself = file_identity(library)](const auto& file) {
        return own.count(file.first) != 0 || file.second == itself;
    });
    const std::filesystem::path path(library);
    const std::string second = path.parent_path() / (path.stem().string() + "_cuda.so");
    files[second] = file_identity(second);
    return files;
}

ProbeReport probe(const std::string& path, const Report& report) {
    ProbeReport result;
    const FileIdentities own = mapped_files();
    if (path.empty()) {
        result.files = own;
        return result;
    }
    const ElfResult elf = read_elf(path, manifest_section);
    const ManifestResult manifest = parse_manifest(elf.image.section.value_or(""));
    if (!manifest.manifest) {
        result.failure = ProbeFailure{
            ProbePhase::start,
            {},
            path + " has no readable manifest: " + (elf.message.empty() ? manifest.error : elf.message),
            {}};
        return result;
    }
    const LoadedPlugin plugin = load_plugin(path, *manifest.manifest, [&](Gate gate) {
        if (gate == Gate::descriptor) {
            result.files = brought_along(path, own);
            report.loaded(result);
        }
        report.enter(phase_of(gate), "");
    });
    if (plugin.descriptor == nullptr) {
        const GateOutcome& gate = plugin.gates.back();
        const bool refused = gate.gate == Gate::load && !is_mapped(path);
        std::string text = gate.reason;
        if (!gate.expected.empty()) text += ", expected " + gate.expected;
        if (!gate.got.empty()) text += ", got " + gate.got;
        result.failure = ProbeFailure{refused ? ProbePhase::start : phase_of(gate.gate), {}, text, gate.hint};
        return result;
    }
    const ProbedHosts hosts = hosts_to_ask();
    for (std::size_t i = 0; i < manifest.manifest->components.size(); ++i) {
        const LoadedComponent component{manifest.manifest->name, &manifest.manifest->components[i],
                                        plugin.descriptor->components[i], path};
        result.components.push_back(
            probe_component(component, hosts,
                            [&](ProbePhase phase, const std::string& title) { report.enter(phase, title); }));
    }
    result.files = brought_along(path, own);  // with what was loaded on being called
    report.enter(ProbePhase::done, "");
    return result;
}

struct Arguments {
    std::string library;
    int report_fd = -1;  // -1: for a person, on the standard output
    ProcessLimits limits;
};

std::optional<Arguments> read_arguments(int argc, char** argv) {
    if (argc % 2 != 0) return std::nullopt;
    Arguments read{argv[1], -1, {}};
    for (int i = 2; i < argc; i += 2) {
        const std::string_view option = argv[i], text = argv[i + 1];
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size() || value < 1) return std::nullopt;
        if (option == "--report-fd")
            read.report_fd = static_cast<int>(value);
        else if (option == "--memory")
            read.limits.memory_bytes = static_cast<std::uint64_t>(value);
        else if (option == "--processor-time")
            read.limits.processor_time = std::chrono::seconds(value);
        else
            return std::nullopt;
    }
    return read;
}

// Returns in a new process for each library that is asked for, with its name. Nothing once nobody asks any
// more. Ends the program where no process can be made.
std::optional<std::string> serve(const Report& report) {
    while (true) {
        std::array<char, PATH_MAX + 1> name;
        const ssize_t size = ::recv(STDIN_FILENO, name.data(), name.size(), 0);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return std::nullopt;
        const pid_t child = ::fork();
        if (child == 0) {
            const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
            ::dup2(nothing, STDIN_FILENO);
            ::close(nothing);
            return std::string(name.data(), static_cast<std::size_t>(size) - 1);
        }
        if (child < 0) {
            std::cerr << "error: no process could be made: " << std::strerror(errno) << '\n';
            std::exit(1);
        }
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        report.ended(status);
    }
}

// Static objects of the plugin are destroyed when the process ends, those of LibTorch are not: exit() goes
// back through what was registered, and all that was loaded by now was registered before this.
void leave_libtorch_as_it_is() {
    ::on_exit([](int code, void*) { base::end_process(code); }, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
    base::guard_terminal();
    const auto arguments = read_arguments(argc, argv);
    if (!arguments) {
        std::cerr << "usage: switchyard-probe LIBRARY [--report-fd N] [--memory BYTES] "
                     "[--processor-time SECONDS]\n";
        return 2;
    }
    const bool by_program = arguments->report_fd >= 0;
    const int watched = by_program ? arguments->report_fd : STDOUT_FILENO;
    std::string library = arguments->library;
    if (library == "-") {
        auto asked = serve(Report(watched, true));
        if (!asked) return base::end_process(0);
        library = std::move(*asked);
    }
    if (const auto error = continue_in_kept_process(arguments->limits, watched); !error.empty()) {
        std::cerr << "error: " << error << '\n';
        return 1;
    }
    int fd = redirect_stdout_for_good();
    if (by_program) {
        fd = ::fcntl(arguments->report_fd, F_DUPFD_CLOEXEC, 100);
        ::close(arguments->report_fd);
    }
    leave_libtorch_as_it_is();
    const Report report(fd, by_program);
    const ProbeReport result = probe(library, report);
    report.finish(result);
    return by_program || !result.failure ? 0 : 1;
}
