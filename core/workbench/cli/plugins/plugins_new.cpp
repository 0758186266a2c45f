// switchyard plugins new NAME --kind KIND [--stable | --cuda]
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include <switchyard/interfaces/kinds.h>
#include "core/kernel/base/printable.h"
#include "core/kernel/base/shell_text.h"
#include "core/kernel/machine/program_paths.h"
#include "core/kernel/trust/own_plugin.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;

struct NewOptions {
    std::string plugin;
    std::string kind;
    std::string folder;  // empty: the plugin's name
    bool stable = false;
    bool cuda = false;
};

// Targets that CMake, or what it generates for Make and Ninja, has itself.
constexpr std::array reserved_targets = std::to_array<std::string_view>(
    {"all", "clean", "cmake_force", "codegen", "default_target", "depend", "edit_cache", "help", "install",
     "list_install_components", "package", "package_source", "preinstall", "rebuild_cache", "test"});

// Headers of C, of POSIX and of compilers: the folder of NAME.h comes before the system's.
constexpr std::array system_headers = std::to_array<std::string_view>(
    {"aio",       "alloca",    "arm_neon",  "assert",    "byteswap",  "complex",      "cpio",     "cpuid",
     "ctype",     "cuda",      "cuda_bf16", "cuda_fp16", "cuda_fp8",  "cuda_runtime", "cxxabi",   "dirent",
     "dlfcn",     "elf",       "emmintrin", "endian",    "err",       "errno",        "error",    "execinfo",
     "fcntl",     "features",  "fenv",      "float",     "fmtmsg",    "fnmatch",      "fts",      "ftw",
     "getopt",    "glob",      "grp",       "iconv",     "ifaddrs",   "immintrin",    "inttypes", "iso646",
     "langinfo",  "libgen",    "libintl",   "limits",    "link",      "locale",       "malloc",   "math",
     "memory",    "mm_malloc", "monetary",  "mqueue",    "netdb",     "obstack",      "omp",      "paths",
     "poll",      "printf",    "pthread",   "pty",       "pwd",       "regex",        "sched",    "search",
     "semaphore", "setjmp",    "shadow",    "signal",    "spawn",     "stdalign",     "stdarg",   "stdatomic",
     "stdbool",   "stddef",    "stdint",    "stdio",     "stdlib",    "stdnoreturn",  "string",   "strings",
     "syscall",   "sysexits",  "syslog",    "tar",       "termios",   "tgmath",       "threads",  "time",
     "uchar",     "ucontext",  "ulimit",    "unistd",    "unwind",    "utime",        "utmp",     "values",
     "wait",      "wchar",     "wctype",    "wordexp",   "x86intrin", "xmmintrin"});

// It names a CMake target, files, a component, a namespace and, in camel case, a class.
void check_name(const std::string& text) {
    const auto allowed = [](unsigned char c) {
        return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
    };
    const auto refuse = [&](const std::string& why) {
        throw Failure("NAME " + base::quoted(text) + ": " + why);
    };
    if (text.empty() || text.size() > 64 || std::islower(static_cast<unsigned char>(text[0])) == 0 ||
        !std::ranges::all_of(text, allowed))
        refuse("expected lower-case letters, digits and '_', beginning with a letter, as fast_norm");
    const auto another = "; expected another name, as my_" + text;
    const auto is_in = [&](const auto& names) { return std::ranges::find(names, text) != names.end(); };
    if (is_in(reserved_targets)) refuse("CMake has a target of that name" + another);
    if (is_in(system_headers)) refuse(text + ".h would hide the system's header of that name" + another);
    if (trust::is_own_name(text))
        refuse("a plugin that comes with this program is called so, and it would take that one's place" +
               another);
    if (text == "m") refuse("the system has a library of that name" + another);
    if (text.ends_with("_cuda"))
        refuse(
            "lib" + text +
            ".so would count as the part for CUDA of another plugin; expected a name that does not end so");
}

// "fast_norm" as "FastNormComponent": "options" as "Options" would hide what the SDK calls so in its own
// functions, in whatever namespace it is.
std::string class_name(const std::string& plugin) {
    std::string text;
    bool begins = true;
    for (const char c : plugin) {
        if (c != '_') text += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        begins = c == '_';
    }
    return text + "Component";
}

std::string filled_in(std::string text, const std::map<std::string, std::string>& values) {
    for (const auto& [name, value] : values) {
        for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
            text.replace(at, name.size(), value);
    }
    return text;
}

std::string template_folder() {
    const auto found = machine::belonging_path("share/switchyard/template");
    if (found.empty())
        throw Failure(
            "the templates of plugins are not there; expected share/switchyard/template where this "
            "program is installed: install it anew",
            Exit::run_failed);
    return found;
}

// Nothing is written over: the folder must be new, or empty.
void make_folder(const std::string& folder) {
    std::error_code error;
    if (fs::exists(folder, error) && !(fs::is_directory(folder, error) && fs::is_empty(folder, error)))
        throw Failure(base::quoted(folder) +
                      ": is there already; expected a folder that is new or empty: --out names another");
    fs::create_directories(folder, error);
    if (error) throw Failure("cannot create the folder " + base::quoted(folder) + ": " + error.message());
}

// What the names of a template's sources begin with.
constexpr std::string_view plugin = "plugin";

void copy_filled_in(const fs::path& from, const fs::path& to,
                    const std::map<std::string, std::string>& values) {
    for (const auto& entry : fs::recursive_directory_iterator(from)) {
        if (!entry.is_regular_file()) continue;
        auto target = to / fs::relative(entry.path(), from);
        if (target.extension() == ".in")  // "plugin_kernel.cu.in", which is no source yet
            target.replace_filename(values.at("@NAME@") + target.stem().string().substr(plugin.size()));
        std::error_code error;
        fs::create_directories(target.parent_path(), error);
        std::ostringstream text;
        text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
        write_file(target.string(), filled_in(text.str(), values));
    }
}

// Where CMake finds the package; this program may lie in a build tree, which has none.
std::string prefix() {
    const auto package = machine::belonging_path("lib/cmake/Switchyard/SwitchyardConfig.cmake");
    return package.empty() ? "" : fs::path(package).parent_path().parent_path().parent_path().parent_path();
}

// The kinds that lie in `folder`, as "linear, normalization".
std::string kinds_in(const fs::path& folder) {
    std::vector<std::string> kinds;
    for (const auto kind : names<Kind>) {
        if (fs::exists(folder / kind)) kinds.emplace_back(kind);
    }
    return joined(kinds);
}

// What a template is made of, folder by folder, a later one's files in place of an earlier one's of that
// name; and how what comes of it is told.
struct Template {
    std::vector<std::string> folders;
    std::string what, configure, build, test, ending;
};

Template template_of(const NewOptions& options) {
    if (options.stable)
        return {{"stable/common", "stable/" + options.kind},
                "a plugin of the stable tier, in C, of the kind ",
                "cmake -B build",
                "cmake --build build",
                "ctest --test-dir build",
                ".c"};
    Template made{{"common"},
                  "a plugin of the kind ",
                  "cmake --preset release",
                  "cmake --build --preset release",
                  "ctest --preset release",
                  ".cpp"};
    if (!options.cuda) {
        made.folders.push_back(options.kind);
        return made;
    }
    made.folders.insert(made.folders.end(), {"cuda/common", "cuda/" + options.kind});
    made.what = "a plugin with a kernel for CUDA devices, of the kind ";
    made.ending = "_kernel.cu";
    return made;
}

int make_plugin(const NewOptions& options) {
    check_name(options.plugin);
    if (options.stable && options.cuda)
        throw Failure("--stable and --cuda: there is no template that is both; expected one of them");
    const fs::path from = template_folder();
    const auto made = template_of(options);
    if (const auto last = from / made.folders.back(); !fs::exists(last))
        throw Failure(std::string(options.stable ? "--stable" : "--cuda") + " has no template of the kind " +
                      options.kind + "; expected one of " + kinds_in(last.parent_path()));
    const auto folder = options.folder.empty() ? options.plugin : options.folder;
    make_folder(folder);
    const std::map<std::string, std::string> values{
        {"@NAME@", options.plugin}, {"@CLASS@", class_name(options.plugin)}, {"@KIND@", options.kind}};
    for (const auto& part : made.folders) copy_filled_in(from / part, folder, values);
    const auto known = prefix();
    std::cout << base::printable(folder) << ": " << made.what << options.kind << "\n  cd "
              << base::printable_word(folder) << "\n  " << made.configure << " "
              << base::printable_word("-DCMAKE_PREFIX_PATH=" +
                                      (known.empty() ? "/where/switchyard/is/installed" : known))
              << "\n  " << made.build << "\n  " << made.test << "\nYour kernel goes into " << options.plugin
              << made.ending << ", where it says so; README.md says more.\n";
    if (known.empty())
        std::cout << "This program is not installed: `cmake --install BUILD --prefix ~/switchyard` first.\n";
    return Exit::fine;
}

}  // namespace

Action setup_plugins_new(CLI::App& command) {
    const auto options = std::make_shared<NewOptions>();
    command.add_option("NAME", options->plugin, "of the plugin and its component, as fast_norm")
        ->required()
        ->type_name("");
    command.add_option("--kind", options->kind, "what its component does")
        ->required()
        ->check(CLI::IsMember(std::vector<std::string>(names<Kind>.begin(), names<Kind>.end())))
        ->type_name("KIND");
    command.add_flag("--stable", options->stable,
                     "in plain C, of the stable tier: loaded by hosts with other releases of LibTorch, too");
    command.add_flag("--cuda", options->cuda,
                     "with a kernel for CUDA devices, in a library beside the plugin's");
    command.add_option("--out", options->folder, "folder to make; default: NAME")->type_name("DIR");
    return [options] { return make_plugin(*options); };
}

}  // namespace switchyard::cli
