// What the tests of discovery share: the test plugins (tests/support/plugins), changed copies of them, and
// discovery with its own cache.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/kernel/loader/discovery.h"
#include "core/kernel/machine/host_info.h"

namespace switchyard::test {

// build/tests/support/plugins/good/libtest_good.so, build/tests/support/plugins/bad/libtest_NAME.so
std::string good_plugin();
std::string bad_plugin(const std::string& name);
std::string probe_program();
std::string manifest_program();

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& content);

// `plugin` with the first `from` in it (in its manifest, if it is there) replaced by `to`, of the same
// length. Throws if `from` is not there.
std::string changed(const std::string& plugin, const std::string& from, const std::string& to);

// Looks at these files and folders only, named by SWITCHYARD_PLUGIN_PATH as far as messages go; a cache in
// `cache`, empty: none.
loader::DiscoveryOptions only(const std::vector<std::string>& places, const std::string& cache = "");

// The only record of a file, without the probe.
loader::PluginRecord judged(const std::string& path);
// The same with the probe.
loader::PluginRecord probed(const std::string& path);

struct Ran {
    int exit_code = -1;
    std::string output;  // standard output and error
};
Ran run(const std::string& command);

}  // namespace switchyard::test
