#include "core/kernel/loader/discovery.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include <switchyard/interfaces/plugin_abi.h>
#include "core/kernel/loader/content_hash.h"
#include "core/kernel/loader/elf_image.h"
#include "core/kernel/loader/exposed_file.h"
#include "core/kernel/loader/host_fingerprint.h"
#include "core/kernel/loader/probe/mapped_files.h"
#include "core/kernel/loader/probe/probe_cache.h"
#include "core/kernel/loader/probe/probe_environment.h"
#include "core/kernel/loader/probe/probe_runner.h"
#include "core/kernel/loader/stable_tier.h"
#include "core/kernel/machine/cpu_features.h"
#include "core/kernel/machine/nvidia_driver.h"
#include "core/kernel/machine/program_paths.h"

namespace switchyard::loader {

namespace fs = std::filesystem;

namespace {

// Everything but the library that a probe's result depends on.
std::string host_key(const Fingerprint& fingerprint, const std::string& probe_program,
                     const HostInfo& machine) {
    std::string text = file_identity(probe_program) + "\n" + machine.cpu_model + "\n" +
                       machine::nvidia_state() + "\n" + loader_variables();
    for (const std::string& feature : machine.cpu_features) text += feature + " ";
    for (const auto& [key, value] : fingerprint) text += "\n" + key + "=" + value;
    return text_hash(text);
}

class Discovery {
public:
    Discovery(const DiscoveryOptions& options, const HostInfo& host)
        : options_(options),
          host_(host),
          probe_program_(options.probe_program.empty() ? standard_probe_program() : options.probe_program),
          cache_(options.cache_folder.value_or(machine::standard_cache_folder())),
          program_(read_host_fingerprint(probe_program_, mapped_files(), cache_)) {
        machine::describe_this_cpu(machine_);
        host_key_ = host_key(program_.fingerprint, probe_program_, machine_);
    }

    std::vector<PluginRecord> run() {
        for (const SearchFinding& finding : scan(options_.path)) {
            if (!finding.exists && finding.entry.named) judge(finding.entry.path, finding.entry.origin);
            if (!finding.error.empty()) unreadable_folder(finding);
            for (const std::string& library : finding.libraries) {
                std::error_code error;
                const fs::path real = fs::canonical(library, error);
                // The same file, reached through two entries or a link, is one plugin and no duplicate.
                if (error || files_.insert(real.string()).second) judge(library, finding.entry.origin);
            }
        }
        if (options_.run_probes) probe_all();
        return std::move(records_);
    }

private:
    struct Waiting {
        std::size_t record;
        CacheKey key;
    };

    void unreadable_folder(const SearchFinding& finding) {
        PluginRecord record;
        record.path = finding.entry.path;
        record.origin = finding.entry.origin;
        record.gates.push_back(refused(Gate::path, "the folder cannot be read: " + finding.error));
        records_.push_back(std::move(record));
    }

    void judge(const std::string& path, const std::string& origin) {
        PluginRecord record;
        record.path = path;
        record.origin = origin;
        ElfImage image;
        const auto pass = [&](GateOutcome outcome) {
            record.gates.push_back(std::move(outcome));
            return record.gates.back().passed;
        };
        const bool good = pass(path_gate(path)) && manifest_gate(record, image, pass) &&
                          pass(disabled_gate(*record.manifest)) && pass(duplicate_gate(record)) &&
                          pass(fingerprint_gate(*record.manifest, path)) && pass(architecture_gate(image)) &&
                          pass(cpu_gate(*record.manifest)) &&
                          (!options_.judge || pass(options_.judge(record)));
        if (good) look_up(record);
        records_.push_back(std::move(record));
    }

    static GateOutcome path_gate(const std::string& path) {
        std::error_code error;
        const fs::file_status status = fs::status(path, error);
        if (!fs::exists(status))
            return refused(Gate::path, "does not exist", {}, {}, "correct the path, or take it out");
        if (!fs::is_regular_file(status))
            return refused(Gate::path, "is not a regular file", "a shared library, or a folder of them");
        if (::access(path.c_str(), R_OK) != 0)
            return refused(Gate::path, "cannot be read by this user", {}, {}, "change its permissions");
        GateOutcome outcome = passed(Gate::path);
        outcome.hint = exposed_because(path);
        return outcome;
    }

    template <class Pass>
    static bool manifest_gate(PluginRecord& record, ElfImage& image, const Pass& pass) {
        const ElfResult elf = read_elf(record.path, manifest_section);
        if (elf.error == ElfError::other_class) {
            return pass(refused(Gate::architecture, elf.message, "a 64-bit library for x86-64", {},
                                "build it for this machine"));
        }
        if (elf.error != ElfError::none) {
            return pass(
                refused(Gate::manifest, elf.message, "a shared library", {}, "build or copy it again"));
        }
        if (!elf.image.section) {
            return pass(refused(Gate::manifest,
                                "is no Switchyard plugin: it has no section " + std::string(manifest_section),
                                {}, {}, "build it with switchyard_add_plugin"));
        }
        ManifestResult parsed = parse_manifest(*elf.image.section);
        if (!parsed.manifest) {
            return pass(refused(Gate::manifest, "its manifest is damaged: " + parsed.error, {}, {},
                                "build it again"));
        }
        record.manifest = std::move(parsed.manifest);
        image = elf.image;
        return pass(passed(Gate::manifest));
    }

    GateOutcome disabled_gate(const Manifest& manifest) const {
        const auto& disabled = options_.disabled;
        if (std::find(disabled.begin(), disabled.end(), manifest.name) == disabled.end())
            return passed(Gate::disabled);
        return refused(Gate::disabled, "is disabled by plugins.disabled", {}, {},
                       "take '" + manifest.name + "' out of that list");
    }

    GateOutcome duplicate_gate(const PluginRecord& record) {
        const auto [first, inserted] = names_.emplace(record.manifest->name, record.path);
        if (inserted) return passed(Gate::duplicate);
        return refused(
            Gate::duplicate,
            "a plugin called '" + record.manifest->name + "' was found before, and the first one counts",
            "one plugin of that name", first->second + " and " + record.path,
            "remove one of them, or rename it");
    }

    GateOutcome fingerprint_gate(const Manifest& manifest, const std::string& path) const {
        if (!program_.error.empty())
            return refused(Gate::fingerprint, "this program cannot load plugins: " + program_.error, {}, {},
                           program_.hint);
        if (manifest.tier == Tier::stable) return stable_gate(manifest, program_.fingerprint, path);
        std::set<Kind> kinds;
        for (const auto& component : manifest.components) kinds.insert(component.kind);
        const std::vector<Mismatch> mismatches = compare(program_.fingerprint, manifest.fingerprint, kinds);
        const std::string wanted =
            std::to_string(SWITCHYARD_ABI_MAJOR) + "." + std::to_string(SWITCHYARD_ABI_MINOR);
        const std::string built =
            std::to_string(manifest.abi_major) + "." + std::to_string(manifest.abi_minor);
        if (mismatches.empty() && manifest.abi_minor > SWITCHYARD_ABI_MINOR) {
            return refused(Gate::fingerprint,
                           "built for version " + built +
                               " of Switchyard's plugin interface, this program has " + wanted,
                           wanted, built, "use a newer Switchyard");
        }
        if (mismatches.empty()) return passed(Gate::fingerprint);
        GateOutcome outcome = refused(Gate::fingerprint, {}, {}, {}, mismatches.front().hint);
        for (const Mismatch& mismatch : mismatches) {
            const char* between = outcome.reason.empty() ? "" : "; ";
            outcome.reason += between + mismatch.reason;
            outcome.expected +=
                (outcome.expected.empty() ? "" : ", ") + mismatch.key + "=" + mismatch.expected;
            outcome.got += (outcome.got.empty() ? "" : ", ") + mismatch.key + "=" + mismatch.got;
        }
        return outcome;
    }

    static GateOutcome architecture_gate(const ElfImage& image) {
        if (image.machine != elf_machine_x86_64) {
            return refused(Gate::architecture, "is built for another processor", "x86-64",
                           machine_name(image.machine), "build it for this machine");
        }
        if (!image.shared)
            return refused(Gate::architecture, "is not a shared library", "a shared library (ET_DYN)");
        return passed(Gate::architecture);
    }

    GateOutcome cpu_gate(const Manifest& manifest) const {
        for (const HostInfo* host : {&host_, &machine_}) {
            std::string missing;
            for (const std::string& feature : manifest.cpu_features) {
                if (!host->has_cpu_feature(feature)) missing += (missing.empty() ? "" : ", ") + feature;
            }
            if (missing.empty()) continue;
            const bool asked = host == &host_;
            return refused(Gate::cpu_features,
                           "needs CPU features that " + (asked ? host->name : std::string("this machine")) +
                               " does not have: " + missing,
                           missing, host->cpu_model,
                           asked ? "use another plugin on this processor"
                                 : "it cannot be loaded here, not even for a plan");
        }
        return passed(Gate::cpu_features);
    }

    // What is known already is taken; the others wait for the probe.
    void look_up(PluginRecord& record) {
        CacheKey key{record.path, host_key_};
        auto known = cache_.find(key);
        record.content_hash = key.content;
        if (!options_.run_probes) return;
        if (known && !options_.ignore_cache)
            finish(record, std::move(*known));
        else
            waiting_.push_back({records_.size(), std::move(key)});
    }

    static void finish(PluginRecord& record, ProbeReport report) {
        if (report.failure)
            record.gates.push_back(
                refused(Gate::probe, to_string(*report.failure), {}, {}, report.failure->hint));
        else
            record.gates.push_back(passed(Gate::probe));
        record.probe = std::move(report);
    }

    void probe_all() {
        const auto deadline =
            options_.probe_deadline.count() > 0 ? options_.probe_deadline : standard_probe_deadline();
        std::vector<ProbeReport> reports(waiting_.size());
        std::atomic<std::size_t> next{0};
        const auto work = [&] {
            ProbeProcess process({probe_program_, deadline});
            for (std::size_t i = next++; i < waiting_.size(); i = next++) {
                reports[i] = process.probe(waiting_[i].key.library);
            }
        };
        std::vector<std::thread> threads;
        const auto wanted = std::min(waiting_.size(), static_cast<std::size_t>(std::max(machine_.cores, 1)));
        for (std::size_t i = 1; i < wanted; ++i) threads.emplace_back(work);
        work();
        for (std::thread& thread : threads) thread.join();
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            // Where nothing of the plugin has run, nothing was learned about it, and what the loader misses
            // may be there the next time.
            const bool learned = !reports[i].failure || reports[i].failure->phase != ProbePhase::start;
            if (learned) cache_.store(waiting_[i].key, reports[i]);
            finish(records_[waiting_[i].record], std::move(reports[i]));
        }
    }

    const DiscoveryOptions& options_;
    const HostInfo& host_;
    HostInfo machine_;  // processors of the one that this runs on
    std::string probe_program_;
    ProbeCache cache_;
    HostFingerprint program_;
    std::string host_key_;
    std::vector<PluginRecord> records_;
    std::vector<Waiting> waiting_;
    std::set<std::string> files_;
    std::map<std::string, std::string> names_;  // name -> path of the first
};

}  // namespace

std::vector<PluginRecord> discover(const DiscoveryOptions& options, const HostInfo& host) {
    return Discovery(options, host).run();
}

}  // namespace switchyard::loader
