// switchyard-manifest: plugin.toml -> C++ source, or C source where it says tier = "stable". Run by
// switchyard_add_plugin (sdk/cmake).
#include <iostream>

#include <CLI/CLI.hpp>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/terminal.h"
#include "core/kernel/loader/content_hash.h"
#include "core/kernel/loader/manifest_tool/generate.h"

namespace {

constexpr int bad_input = 2;

// The fingerprint's lines about the libraries in `folder`; empty if one cannot be read.
std::string library_lines(const std::string& folder) {
    std::string lines;
    for (const char* library : {"libtorch_cpu", "libc10"}) {
        const std::string path = folder + "/" + library + ".so";
        const std::string id = switchyard::loader::library_id(path);
        if (id.empty()) {
            std::cerr
                << path
                << ": error: cannot be read; expected LibTorch's library; pass its folder with --libtorch\n";
            return {};
        }
        lines += std::string(library) + "_build_id=" + id + "\n";
    }
    return lines;
}

// What is written, or nothing after a message.
std::string made_of(const switchyard::loader::PluginToml& plugin, const std::string& libtorch, bool section) {
    using switchyard::loader::Tier;
    if (plugin.manifest.tier == Tier::stable)
        return section ? switchyard::loader::stable_section(plugin)
                       : switchyard::loader::generate_stable_source(plugin);
    if (section || libtorch.empty()) {
        std::cerr << "error: "
                  << (section ? "--section is for tier = \"stable\" only" : "--libtorch is missing")
                  << "; expected " << (section ? "a source as output" : "LibTorch's folder lib") << "\n";
        return {};
    }
    const std::string libraries = library_lines(libtorch);
    return libraries.empty() ? std::string() : switchyard::loader::generate_source(plugin, libraries);
}

}  // namespace

int main(int argc, char** argv) {
    switchyard::base::guard_terminal();
    CLI::App app("Makes the C++ source of a plugin's descriptor and manifest from its plugin.toml.",
                 "switchyard-manifest");
    std::string manifest, libtorch, output, target, tier;
    app.add_option("--manifest", manifest, "the plugin.toml")->required();
    app.add_option("--libtorch", libtorch,
                   "folder of libtorch_cpu.so and libc10.so; a stable plugin needs none");
    app.add_option("--output", output, "the source to write")->required();
    app.add_option("--name", target, "what the plugin must be called");
    app.add_option("--tier", tier, "what the plugin.toml must say: native or stable")
        ->check(CLI::IsMember({"native", "stable"}));
    bool section = false;
    app.add_flag(
        "--section", section,
        "write the bytes of the section switchyard_manifest instead of a source: for a stable plugin in "
        "another language than C");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : bad_input;
    }
    const auto read = switchyard::loader::read_plugin_toml(manifest, target);
    if (!read.plugin) {
        std::cerr << switchyard::config::render(read.problems);
        return bad_input;
    }
    if (const auto& made = read.plugin->manifest; !tier.empty() && tier != switchyard::name(made.tier)) {
        std::cerr
            << manifest << ": error: tier is \"" << switchyard::name(made.tier) << "\"; expected \"" << tier
            << "\": a stable plugin says so in plugin.toml and in CMake, switchyard_add_plugin(NAME STABLE "
               "...)\n";
        return bad_input;
    }
    const std::string content = made_of(*read.plugin, libtorch, section);
    if (content.empty()) return bad_input;
    const auto error = switchyard::base::write_file_atomically(output, content);
    if (error) std::cerr << "error: " << *error << "\n";
    return error ? 1 : 0;
}
