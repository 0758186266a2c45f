#include "fixture.h"

#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <switchyard_test.h>

namespace switchyard::test {

std::string good_plugin() { return build_dir() / "tests/support/plugins/good/libtest_good.so"; }
std::string bad_plugin(const std::string& name) {
    return build_dir() / "tests/support/plugins/bad" / ("libtest_" + name + ".so");
}
std::string probe_program() { return build_dir() / "libexec/switchyard/switchyard-probe"; }
std::string manifest_program() { return build_dir() / "libexec/switchyard/switchyard-manifest"; }

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary);
    file << content;
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

std::string changed(const std::string& plugin, const std::string& from, const std::string& to) {
    std::string content = read_file(plugin);
    // The manifest first: the descriptor has some of its texts, too.
    auto at = content.find(from, content.find("SWYDMAN1"));
    if (at == std::string::npos) at = content.find(from);
    if (at == std::string::npos || from.size() != to.size())
        throw std::runtime_error("'" + from + "' cannot be replaced in " + plugin);
    return content.replace(at, from.size(), to);
}

loader::DiscoveryOptions only(const std::vector<std::string>& places, const std::string& cache) {
    loader::DiscoveryOptions options;
    options.path.entries.clear();
    for (const std::string& place : places)
        options.path.entries.push_back({place, "SWITCHYARD_PLUGIN_PATH", true});
    options.cache_folder = cache;
    options.probe_program = probe_program();
    return options;
}

loader::PluginRecord judged(const std::string& path) {
    loader::DiscoveryOptions options = only({path});
    options.run_probes = false;
    return loader::discover(options, machine::this_host(machine::Look::cpu_only)).at(0);
}

loader::PluginRecord probed(const std::string& path) {
    return loader::discover(only({path}), machine::this_host(machine::Look::cpu_only)).at(0);
}

Ran run(const std::string& command) {
    Ran ran;
    std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
    char chunk[4096];
    for (std::size_t got = 0; (got = std::fread(chunk, 1, sizeof(chunk), pipe)) > 0;)
        ran.output.append(chunk, got);
    const int status = ::pclose(pipe);
    ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ran;
}

}  // namespace switchyard::test
