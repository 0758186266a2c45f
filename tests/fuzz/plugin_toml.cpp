// plugin.toml: what is accepted becomes a C++ source whose literals are closed, and whose manifest the host
// reads as it was written.
#include "core/kernel/loader/manifest.h"
#include "core/kernel/loader/manifest_tool/generate.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace loader = switchyard::loader;

// The string literals of one definition, joined: what the compiler would make of `NAME = "..." "...";`.
std::string literal_after(std::string_view source, std::string_view name) {
    const auto begin = source.find(name);
    require(begin != std::string_view::npos, "the source lacks a definition", name);
    std::string text;
    bool inside = false;
    for (auto at = begin + name.size(); at < source.size(); ++at) {
        const char c = source[at];
        if (!inside && c == ';') return text;
        if (!inside) {
            require(c == ' ' || c == '\n' || c == '=' || c == '"', "something stands between literals",
                    source.substr(at, 40));
            inside = c == '"';
            continue;
        }
        require(c != '\n' && c != '\r', "a literal is not closed on its line", text);
        if (c == '"') {
            inside = false;
        } else if (c == '\\') {
            const char escaped = at + 1 < source.size() ? source[++at] : '\0';
            require(escaped == 'n' || escaped == '"' || escaped == '\\', "an unknown escape",
                    source.substr(at - 1, 40));
            text += escaped == 'n' ? '\n' : escaped;
        } else {
            text += c;
        }
    }
    throw Broken("a definition has no end");
}

std::string section_of(std::string_view json) {
    const std::string content = "abi_major=1\n\n" + std::string(json);
    std::string section = "SWYDMAN1";
    for (const std::size_t number : {std::size_t{1}, content.size()}) {
        for (unsigned shift = 0; shift < 32; shift += 8)
            section += static_cast<char>(number >> shift & 0xffU);
    }
    return section + content;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const InputFile file(text_of(data, size));
    const auto read = loader::read_plugin_toml(file.path(), "");
    require(read.plugin.has_value() == read.problems.empty(), "neither a plugin nor problems");
    for (const auto& problem : read.problems) require_message(switchyard::config::render(problem));
    if (!read.plugin) return 0;

    const auto& written = read.plugin->manifest;
    const auto source = loader::generate_source(*read.plugin, "libc10_build_id=a\n");
    const auto parsed = loader::parse_manifest(section_of(literal_after(source, "manifest_json")));
    require(parsed.manifest.has_value(), "the host does not read the manifest", parsed.error);
    const auto& manifest = *parsed.manifest;
    require(manifest.name == written.name && manifest.version == written.version &&
                manifest.vendor == written.vendor && manifest.license == written.license &&
                manifest.summary == written.summary && manifest.cpu_features == written.cpu_features &&
                manifest.components.size() == written.components.size(),
            "the manifest says something else");
    for (std::size_t i = 0; i < written.components.size(); ++i) {
        const auto &a = written.components[i], &b = manifest.components[i];
        require(a.kind == b.kind && a.id == b.id && a.summary == b.summary && a.variants == b.variants &&
                    a.priority == b.priority && a.accuracy_bound == b.accuracy_bound &&
                    a.options.size() == b.options.size(),
                "a component's manifest says something else", a.id);
    }
    return 0;
}
