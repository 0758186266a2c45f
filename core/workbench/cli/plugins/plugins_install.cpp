// switchyard plugins install FILE|FOLDER and switchyard plugins remove NAME
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/kernel/base/printable.h"
#include "core/kernel/config/suggest.h"
#include "core/kernel/loader/discovery.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/trust/conformance_record.h"
#include "core/kernel/trust/own_plugin.h"
#include "core/kernel/trust/plugin_content.h"
#include "core/kernel/trust/plugin_signature.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/need_libtorch.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;

std::string own_folder() {
    auto folder = loader::user_plugin_folder();
    if (folder.empty())
        throw Failure("HOME is not set; plugins are installed into ~/.local/lib/switchyard/plugins");
    return folder;
}

std::vector<loader::PluginRecord> records_in(const std::string& place) {
    loader::DiscoveryOptions discovery;
    discovery.path.entries = {{place, "the command line", true}};
    return loader::discover(discovery, machine::this_host(machine::Look::cpu_only));
}

// By their manifests alone: nothing of them runs.
std::vector<loader::PluginRecord> installed_in(const std::string& folder) {
    loader::DiscoveryOptions discovery;
    discovery.path.entries = {{folder, "plugins install", true}};
    discovery.run_probes = false;
    return loader::discover(discovery, machine::this_host(machine::Look::cpu_only));
}

// The kernels for CUDA devices lie beside the library.
fs::path cuda_part(const fs::path& library) { return trust::cuda_part_of(library.string()); }

// Its signature and its record of conformance.
std::vector<fs::path> signed_files_of(const fs::path& library) {
    return {trust::signature_file_of(library.string()), trust::shipped_record_of(library.string())};
}

// All of it or nothing: what is there under that name is replaced at once, and a run that has it open goes
// on with what it has.
void put_into(const fs::path& folder, const fs::path& from) {
    const auto target = folder / from.filename(), fresh = folder / ("." + from.filename().string() + ".new");
    std::error_code error;
    fs::copy_file(from, fresh, fs::copy_options::overwrite_existing, error);
    if (!error) fs::rename(fresh, target, error);
    if (!error) return;
    std::error_code ignored;
    fs::remove(fresh, ignored);
    throw Failure("cannot write " + target.string() + ": " + error.message(), Exit::run_failed);
}

// It may not be there.
void remove_file(const fs::path& file) {
    std::error_code error;
    fs::remove(file, error);
    if (error) throw Failure("cannot remove " + file.string() + ": " + error.message(), Exit::run_failed);
}

// What proves a library lies beside it. An older one of another library would only be wrong.
void put_signature_into(const fs::path& folder, const fs::path& library) {
    for (const auto& file : signed_files_of(library)) {
        if (std::error_code ignored; fs::exists(file, ignored))
            put_into(folder, file);
        else
            remove_file(folder / file.filename());
    }
}

// All libraries of a plugin with what lies beside them, but not the one in the file `kept`: the first of that
// name counts, whichever was put there last. Returns their files' names.
std::vector<std::string> remove_plugin(const std::string& folder, const std::string& plugin,
                                       const fs::path& kept) {
    std::vector<std::string> removed;
    std::size_t before = 0;
    do {  // where one is a link to another, only the first of them is found at a time
        before = removed.size();
        for (const auto& record : installed_in(folder)) {
            const fs::path library(record.path);
            if (record.display_name() != plugin || library.filename() == kept || !fs::exists(library))
                continue;
            auto files = signed_files_of(library);
            files.insert(files.end(), {library, cuda_part(library)});
            for (const auto& file : files) remove_file(file);
            removed.push_back(library.filename().string());
        }
    } while (removed.size() != before);
    return removed;
}

// Another plugin whose file this one would replace, and what to do; empty: there is none.
std::string taken_place(const std::string& folder, const loader::PluginRecord& record) {
    const auto target = (fs::path(folder) / fs::path(record.path).filename()).string();
    for (const auto& there : installed_in(target)) {
        if (!there.manifest || there.manifest->name == record.manifest->name) continue;
        return base::printable(record.path) + ": would replace " + base::printable(target) +
               ", which is the plugin \"" + there.manifest->name +
               "\"; expected another name of the file, or `switchyard plugins remove " +
               there.manifest->name + "` before\n";
    }
    return "";
}

int install(const std::string& place) {
    if (std::error_code ignored; !fs::exists(place, ignored))
        throw Failure(base::quoted(place) +
                      ": error: there is no such file; expected a library, or a folder of them");
    const auto folder = own_folder();
    const auto records = records_in(fs::absolute(place).string());
    if (records.empty())
        throw Failure(base::quoted(place) + ": error: has no plugins; expected libraries that end in .so");
    std::string problems;
    for (const auto& record : records) {
        if (!record.usable())
            problems += loader::explain(record) + "\n";
        else if (trust::is_own_name(record.manifest->name))
            problems += base::printable(record.path) + ": is called \"" + record.manifest->name +
                        "\", as a plugin that comes with this program, whose place it would take; expected "
                        "another name in its plugin.toml, or its folder in plugins.paths or "
                        "SWITCHYARD_PLUGIN_PATH, where it takes that place without being installed\n";
        else
            problems += taken_place(folder, record);
    }
    if (!problems.empty()) {
        problems.pop_back();
        throw Failure("nothing was installed\n" + problems);
    }
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw Failure("cannot create the folder " + folder + ": " + error.message(), Exit::run_failed);
    for (const auto& record : records) {
        const auto cuda = cuda_part(record.path);
        std::error_code ignored;
        const bool has_cuda = fs::exists(cuda, ignored);
        if (has_cuda) put_into(folder, cuda);
        put_into(folder, record.path);
        if (!has_cuda) remove_file(folder / cuda.filename());
        put_signature_into(folder, record.path);
        const auto replaced = remove_plugin(folder, record.manifest->name, fs::path(record.path).filename());
        std::cout << record.manifest->name << " " << record.manifest->version << ": installed in " << folder
                  << (replaced.empty() ? "" : " in place of " + base::printable(joined(replaced, ", ")))
                  << "; `switchyard plugins verify " << record.manifest->name << "` proves it\n";
    }
    return Exit::fine;
}

int remove(const std::string& plugin) {
    const auto folder = own_folder();
    if (!remove_plugin(folder, plugin, "").empty()) {
        std::cout << plugin << ": removed from " << folder << "\n";
        return Exit::fine;
    }
    std::vector<std::string> names;
    for (const auto& record : installed_in(folder)) {
        if (record.gates.front().passed || fs::exists(record.path)) names.push_back(record.display_name());
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    const auto near = config::suggest(plugin, names);
    throw Failure("no plugin in " + folder + " is called \"" + base::quoted(plugin) + "\"" +
                  (near.empty() ? "" : "; did you mean \"" + near + "\"?") + "\n" +
                  (names.empty() ? "none is installed there" : "installed there: " + joined(names, ", ")));
}

}  // namespace

Action setup_plugins_install(CLI::App& command) {
    const auto place = std::make_shared<std::string>();
    command.add_option("FILE|FOLDER", *place, "a plugin's library, or a folder of them")
        ->required()
        ->type_name("");
    return [place] {
        need_libtorch();
        return install(*place);
    };
}

Action setup_plugins_remove(CLI::App& command) {
    const auto plugin = std::make_shared<std::string>();
    command.add_option("NAME", *plugin, "the plugin's name")->required()->type_name("");
    return [plugin] { return remove(*plugin); };
}

}  // namespace switchyard::cli
