#include "rules.h"
#include "source_files.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace switchyard::architecture {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

Names with(Names names, const Names& more) {
    names.insert(more.begin(), more.end());
    return names;
}

// What each part may include and link, itself apart. A part is a folder of core/include/switchyard, of
// core/kernel or core/workbench, "reference", "sdk" (its headers), "conformance", or "plugin". To add a
// folder, add its line; to add an edge, change docs/architecture.md too.
const Names for_config = {"base", "interfaces"};
const Names for_machine = with(for_config, {"config"});
const Names for_loader = with(for_machine, {"machine"});
const Names for_resolver = with(for_loader, {"loader"});
const Names for_runtime = with(for_resolver, {"resolver", "reference"});
const Names for_model = with(for_runtime, {"runtime"});
const Names for_train = with(for_model, {"gguf", "model", "device_graph", "data", "score", "distributed"});
const Names for_bench = with(for_model, {"sdk", "conformance"});
const Names for_compare = with(for_train, {"train", "infer", "bench", "report"});

const std::map<std::string, Names> may_use = {
    {"interfaces", {}},
    {"reference", {"interfaces"}},
    {"sdk", {"interfaces", "reference"}},
    {"conformance", {"sdk", "interfaces", "reference"}},
    {"plugin", {"sdk", "interfaces", "reference"}},
    // core/kernel
    {"base", {}},
    {"config", for_config},
    {"machine", for_machine},
    {"loader", for_loader},
    {"trust", for_resolver},
    {"resolver", for_resolver},
    {"runtime", for_runtime},
    {"probe", for_model},
    // core/workbench
    {"gguf", {"base"}},
    {"model", with(for_model, {"gguf"})},
    {"data", with(for_model, {"gguf"})},
    {"score", {"base"}},
    {"device_graph", for_model},
    {"distributed", for_loader},
    {"scale", with(for_model, {"model"})},
    {"train", for_train},
    {"infer", for_train},
    {"quantize", with(for_runtime, {"runtime", "model"})},
    {"bench", for_bench},
    {"compare", with(for_compare, {"profile"})},
    {"profile", with(for_train, {"train", "bench", "report"})},
    {"report", {"base", "score"}},
    {"cli", with(for_compare, {"compare", "profile", "quantize", "scale", "trust", "sdk", "conformance"})},
};

// What only some files may have: the pattern, where it is allowed, why.
struct Confined {
    std::regex what;
    std::regex allowed;
    const char* why;
};

const std::vector<Confined>& confined_headers() {
    static const std::vector<Confined> list = {
        {std::regex("torch/(torch|extension)\\.h"), std::regex("nowhere"),
         "it costs 13 to 22 s in every source; include single <ATen/ops/...> headers"},
        {std::regex("(spdlog|fmt)/.*"), std::regex("core/kernel/base/log\\.cpp"),
         "LibTorch ships another fmt; log through core/kernel/base/log.h"},
        {std::regex("ATen/(?!core/Tensor\\.h).*"), std::regex("(?!core/include/switchyard/interfaces/).*"),
         "a contract header includes <ATen/core/Tensor.h> and nothing more of ATen"},
        {std::regex("(arrow|parquet)/.*"), std::regex("core/workbench/data/parquet/arrow_table\\.cpp"),
         "Arrow is optional and 60 MB; only the library that reads Parquet has it"},
        {std::regex("torch/csrc/distributed/.*"),
         std::regex("core/workbench/distributed/(c10d|nccl_group)\\.cpp"),
         "c10d's headers cost 10 s in every source; use core/workbench/distributed/group.h"},
        {std::regex("sodium.*"), std::regex("core/kernel/trust/ed25519\\.cpp"),
         "what is signed is signed in one place; use core/kernel/trust/ed25519.h"},
        {std::regex("catch2/.*"), std::regex("tests/.*"), "only tests use Catch2"},
    };
    return list;
}

// Where std::cout and std::cerr may be used (core/kernel/base/terminal.h says what they do to text), and
// where output goes past them and why it may.
const std::regex prints(
    "core/workbench/cli/.*|.*_main\\.cpp"
    "|core/kernel/base/(terminal\\.(h|cpp)|(stdout_redirect|end_process)\\.cpp)");
const Names writes_raw = {"core/workbench/cli/answer_pipe.cpp",      // JSON into the pipe of who started it
                          "core/kernel/runtime/crash_handler.cpp",   // in a signal handler; plain ASCII only
                          "core/kernel/machine/cpu_allocator.cpp"};  // before it aborts; text of its own only

// Calls that only some files may make, or none.
const std::vector<Confined>& confined_calls() {
    static const std::vector<Confined> list = {
        {std::regex(
             "\\b([jJ]son|ordered_json|basic_json)::(parse|accept|sax_parse|from_[a-z]+)\\(|\"_json\\b"),
         std::regex("core/kernel/base/json_text\\.cpp"),
         "JSON is read with its limits by core/kernel/base/json_text.h"},
        {std::regex("static_cast<(const )?(\\w+::)*\\w+Request ?[&*]>\\("),
         std::regex("core/include/switchyard/interfaces/kinds\\.h"),
         "KindTraits<kind>::request gives a request as what it is"},
        {std::regex("\\)\\.(sizes|strides)\\(\\);"), std::regex("nowhere"),
         "what it gives lies in the tensor, which may be gone at the end of the line; name the tensor first"},
    };
    return list;
}

/// The part that a file belongs to, from its path relative to the root; empty if it belongs to none.
std::string part_of(const std::string& path) {
    static const std::regex plugin(
        "(plugins|examples/plugin|examples/plugins|tests/support/plugins|tests/hostile)/.*");
    static const std::regex module(
        "(?:core/include/switchyard|core/kernel|core/workbench|sdk/include/switchyard|core|sdk)/([^/]+)/.*");
    std::smatch match;
    if (std::regex_match(path, match, plugin)) return "plugin";
    return std::regex_match(path, match, module) ? match[1].str() : std::string();
}

bool may(const std::string& part, const std::string& other) {
    const auto found = may_use.find(part);
    return part == other || (found != may_use.end() && found->second.contains(other));
}

std::string list_of(const std::string& part) {
    std::string text;
    for (const auto& name : may_use.at(part)) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "nothing" : text;
}

struct Include {
    std::string place;  // "path:line"
    std::string header;
    bool quoted;
};

std::vector<Include> includes_of(const fs::path& file, const std::string& name) {
    static const std::regex pattern("\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"].*");
    std::vector<Include> found;
    std::ifstream stream(file);
    std::string line;
    std::smatch match;
    for (int number = 1; std::getline(stream, line); ++number) {
        if (!std::regex_match(line, match, pattern)) continue;
        found.push_back({name + ":" + std::to_string(number), match[2], match[1] == "\""});
    }
    return found;
}

/// Folder of core -> folders that it includes, with one place for each.
using Edges = std::map<std::string, std::map<std::string, std::string>>;

void check_own_header(const std::string& part, const Include& include, Edges& edges, Problems& problems) {
    static const std::regex published("switchyard/([^/]+)/.*"), own("(?:core|sdk|plugins|tests)/.*");
    std::smatch match;
    std::string other;
    if (!include.quoted && std::regex_match(include.header, match, published)) other = match[1];
    if (include.quoted && std::regex_match(include.header, own)) other = part_of(include.header);
    if (other.empty()) return;
    if (!may(part, other)) {
        problems.push_back(include.place + ": " + part + " may not include " + include.header +
                           "; it may use " + list_of(part));
    }
    if (part != other) edges[part].emplace(other, include.place);
}

void check_include(const std::string& name, const Include& include, Problems& problems) {
    if (include.quoted && include.header.find("..") != std::string::npos) {
        problems.push_back(include.place + ": \"" + include.header +
                           "\" leaves its folder; write its path from the root of the project");
    }
    if (include.quoted && name.starts_with("core/") && !include.header.starts_with("core/")) {
        problems.push_back(include.place + ": \"" + include.header +
                           "\" does not say where it is; write its path from the root of the project");
    }
    static const Names published = {"interfaces", "reference", "sdk", "conformance"};
    static const std::regex own("switchyard/([^/]+)/.*");
    std::smatch match;
    if (!include.quoted && std::regex_match(include.header, match, own) && !published.contains(match[1])) {
        problems.push_back(include.place + ": <" + include.header +
                           "> is not published; write its path from the root of the project in quotes");
    }
    for (const auto& confined : confined_headers()) {
        if (std::regex_match(include.header, confined.what) && !std::regex_match(name, confined.allowed)) {
            problems.push_back(include.place + ": <" + include.header +
                               "> may not be included here: " + confined.why);
        }
    }
}

bool reaches(const Edges& edges, const std::string& from, const std::string& to, Names& seen) {
    if (!seen.insert(from).second || !edges.contains(from)) return false;
    for (const auto& [next, place] : edges.at(from)) {
        if (next == to || reaches(edges, next, to, seen)) return true;
    }
    return false;
}

void check_circles(const Edges& edges, Problems& problems) {
    for (const auto& [from, targets] : edges) {
        for (const auto& [to, place] : targets) {
            Names seen;
            if (reaches(edges, to, from, seen)) {
                problems.push_back(place + ": " + from + " includes " + to + ", which depends on " + from +
                                   " again");
            }
        }
    }
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
}

struct Target {
    std::string name;
    Names parts;
    std::vector<std::string> links;
};

std::vector<Target> read_targets(const fs::path& root, const fs::path& file) {
    std::vector<Target> targets;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        const auto fields = split(line, '|');
        if (fields.size() < 3) continue;
        Target target{fields[0], {}, split(fields[2], ';')};
        for (const auto& source : split(fields[1], ';')) {
            const auto part = part_of(relative_to(root, source));
            if (!part.empty()) target.parts.insert(part);
        }
        targets.push_back(target);
    }
    return targets;
}

/// switchyard::reference and switchyard_reference are one target; imported ones are none of ours.
const Target* find_target(const std::vector<Target>& targets, const std::string& name) {
    std::string plain = name;
    if (plain.starts_with("switchyard::")) plain.replace(0, 12, "switchyard_");
    const auto found =
        std::find_if(targets.begin(), targets.end(), [&](const Target& t) { return t.name == plain; });
    return found == targets.end() ? nullptr : &*found;
}

bool may_link(const Target& target, const Target& other) {
    if (other.parts.contains("plugin")) return false;
    return std::all_of(other.parts.begin(), other.parts.end(), [&](const std::string& needed) {
        return std::any_of(target.parts.begin(), target.parts.end(),
                           [&](const std::string& part) { return may(part, needed); });
    });
}

}  // namespace

Problems check_includes(const fs::path& root) {
    Problems problems;
    Edges edges;
    for (const auto& file :
         sources_below(root, {"core", "sdk", "plugins", "examples/plugin", "examples/plugins"})) {
        const std::string name = relative_to(root, file);
        const std::string part = part_of(name);
        if (!may_use.contains(part)) {
            problems.push_back(name +
                               ":1: the folder has no place in the dependency rule; add it to rules.cpp");
            continue;
        }
        for (const auto& include : includes_of(file, name)) {
            check_include(name, include, problems);
            check_own_header(part, include, edges, problems);
        }
    }
    check_circles(edges, problems);
    return problems;
}

Problems check_plugin_names(const fs::path& root) {
    Problems problems;
    if (!fs::exists(root / "plugins")) return problems;
    Names plugins;
    for (const auto& entry : fs::directory_iterator(root / "plugins")) {
        if (entry.is_directory()) plugins.insert(entry.path().filename().string());
    }
    plugins.erase("int8");  // a dtype is called so, too
    for (const auto& file : sources_below(root, {"core"})) {
        const std::string name = relative_to(root, file);
        if (part_of(name) == "cli") continue;
        const auto lines = code_lines(file);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            for (const auto& plugin : plugins) {
                if (lines[i].find('"' + plugin + '"') == std::string::npos) continue;
                problems.push_back(name + ":" + std::to_string(i + 1) + ": core names the plugin \"" +
                                   plugin + "\"");
            }
        }
    }
    return problems;
}

Problems check_calls(const fs::path& root) {
    Problems problems;
    for (const auto& file : sources_below(root, {"core", "sdk", "plugins"})) {
        const std::string name = relative_to(root, file);
        const auto lines = code_lines(file);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            for (const auto& confined : confined_calls()) {
                std::smatch match;
                if (std::regex_match(name, confined.allowed) ||
                    !std::regex_search(lines[i], match, confined.what))
                    continue;
                problems.push_back(name + ":" + std::to_string(i + 1) + ": " + match.str() +
                                   " may not be called here: " + confined.why);
            }
        }
    }
    return problems;
}

Problems check_definitions(const fs::path& root) {
    static const std::regex opening("(?:inline )?namespace ?([\\w:]*) ?\\{.*");
    static const std::regex closing("\\} *// namespace.*");  // the formatter writes it
    static const std::regex definition(
        "(?:struct|class|enum class|enum) (\\w+)(?: final)?(?: ?:[^:].*)? ?\\{.*");
    std::map<std::string, std::string> places;
    Problems problems;
    for (const auto& path : sources_below(root, {"core", "sdk"})) {
        std::vector<std::string> open;
        std::ifstream stream(path);
        std::smatch match;
        std::string line;
        for (int number = 1; std::getline(stream, line); ++number) {
            if (std::regex_match(line, match, opening)) open.push_back(match[1]);
            if (std::regex_match(line, closing) && !open.empty()) open.pop_back();
            if (!std::regex_match(line, match, definition)) continue;
            std::string name;
            for (const auto& part : open) name += part + "::";
            name += match[1];
            const auto place = relative_to(root, path) + ":" + std::to_string(number);
            const bool unnamed = std::find(open.begin(), open.end(), "") != open.end();
            const auto [found, first] = unnamed ? std::pair(places.end(), true) : places.emplace(name, place);
            if (!first) problems.push_back(place + ": " + name + " is defined in " + found->second + " too");
        }
    }
    return problems;
}

Problems check_namespaces(const fs::path& root) {
    static const std::regex opening("namespace switchyard::(\\w+).*\\{.*");
    // What lies with the module that has the most use for it.
    static const std::map<std::string, std::string> elsewhere{{"probe", "loader"}, {"log", "base"}};
    Problems problems;
    for (const auto& path : sources_below(root, {"core/kernel", "core/reference", "core/workbench"})) {
        const fs::path from_root = relative_to(root, path);
        auto place = from_root.begin();
        std::string folder = (++place)->string();
        if (folder != "reference") folder = (++place)->string();
        if (elsewhere.contains(folder)) folder = elsewhere.at(folder);
        std::ifstream stream(path);
        std::smatch match;
        std::string line;
        for (int number = 1; std::getline(stream, line); ++number) {
            if (!std::regex_match(line, match, opening)) continue;
            const std::string name = elsewhere.contains(match[1]) ? elsewhere.at(match[1]) : match[1].str();
            if (name == folder) continue;
            problems.push_back(relative_to(root, path) + ":" + std::to_string(number) +
                               ": the namespace is switchyard::" + match[1].str() + ", the folder " + folder);
        }
    }
    return problems;
}

Problems check_lengths(const fs::path& root, int limit) {
    Problems problems;
    for (const auto& file : sources_below(root, {"core", "sdk", "plugins", "tests", "examples"})) {
        std::ifstream stream(file);
        const auto lines = std::count(std::istreambuf_iterator<char>(stream), {}, '\n');
        if (lines > limit) {
            problems.push_back(relative_to(root, file) + ":" + std::to_string(limit) + ": the file has " +
                               std::to_string(lines) + " lines; at most " + std::to_string(limit) +
                               " are allowed");
        }
    }
    return problems;
}

Problems check_comments(const fs::path& root, std::size_t limit) {
    Problems problems;
    for (const auto& file : sources_below(root, {"core", "sdk", "plugins", "tests", "examples"})) {
        std::ifstream stream(file);
        std::string line;
        for (int number = 1; std::getline(stream, line); ++number) {
            const auto begin = line.find_first_not_of(" /*");
            const bool comment = begin != std::string::npos && begin > 0 && line.find("//") < begin;
            if (!comment || line.size() <= limit) continue;
            problems.push_back(relative_to(root, file) + ":" + std::to_string(number) + ": the comment has " +
                               std::to_string(line.size()) + " columns; at most " + std::to_string(limit) +
                               " are allowed");
        }
    }
    return problems;
}

Problems check_output(const fs::path& root) {
    static const std::regex stream("std::(cout|cerr|clog)\\b"),
        raw("\\b(v?f?printf|f?puts|f?putc|putchar|perror|fwrite)\\s*\\("
            "|\\bwrite\\s*\\(\\s*(STDOUT_FILENO|STDERR_FILENO|[12]\\s*,)"),
        main_function("int main\\(.*"), guard("\\s*(switchyard::)?base::guard_terminal\\(\\);");
    Problems problems;
    for (const auto& file : sources_below(root, {"core"})) {
        const std::string name = relative_to(root, file);
        const auto lines = code_lines(file);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const std::string place = name + ":" + std::to_string(i + 1) + ": ";
            const auto uses = [&](const std::regex& what) { return std::regex_search(lines[i], what); };
            if (uses(stream) && !std::regex_match(name, prints))
                problems.push_back(place + "only commands print; return the text, or log it");
            if (uses(raw) && !writes_raw.contains(name))
                problems.push_back(place +
                                   "nothing escapes what is written like this; use std::cout or "
                                   "std::cerr, or the log");
            if (!std::regex_match(lines[i], main_function)) continue;
            if (i + 1 == lines.size() || !std::regex_match(lines[i + 1], guard))
                problems.push_back(place + "does not begin with base::guard_terminal()");
        }
    }
    return problems;
}

Problems check_links(const fs::path& root, const fs::path& file) {
    Problems problems;
    const auto targets = read_targets(root, file);
    if (targets.empty()) problems.push_back(file.string() + ":1: no targets are listed");
    for (const auto& target : targets) {
        for (const auto& link : target.links) {
            const Target* const other = find_target(targets, link);
            if (other == nullptr || other == &target || may_link(target, *other)) continue;
            problems.push_back(target.name + " links " + other->name + ", which its folder may not use");
        }
    }
    return problems;
}

}  // namespace switchyard::architecture
