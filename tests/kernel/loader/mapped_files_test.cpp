// Which libraries a process has, a plugin brings along, and which LibTorch the program has; what is said
// where one is missing. To add a library that a plugin brings along: as libtest_lacking.so in
// tests/support/plugins.
#include <cstdlib>

#include "core/kernel/loader/host_fingerprint.h"
#include "core/kernel/loader/probe/mapped_files.h"

#include "fixture.h"

#include "variable.h"

#include <switchyard_test.h>

using namespace switchyard::loader;
using namespace switchyard::machine;
using namespace switchyard::test;

namespace {

namespace fs = std::filesystem;

std::string elsewhere() { return build_dir() / "tests/support/plugins/elsewhere/libtest_lacking.so"; }

}  // namespace

TEST_CASE("the libraries of this process are told with what tells whether they change") {
    const FileIdentities files = mapped_files();
    const std::string libc = path_of("libc.so.6", files);
    REQUIRE(fs::exists(libc));
    CHECK(files.at(libc) == file_identity(libc));
    CHECK(fs::exists(path_of("libtorch_cpu.so", files)));
    CHECK(path_of("libnobody.so", files).empty());
    CHECK(file_identity("/nonexistent.so").empty());
}

TEST_CASE("a plugin's library is found once LD_LIBRARY_PATH has its folder, and is told") {
    const std::string plugin = bad_plugin("lacks_library");
    CHECK_FALSE(probed(plugin).usable());
    const Variable path("LD_LIBRARY_PATH", "/nonexistent:" + fs::path(elsewhere()).parent_path().string());
    const PluginRecord record = probed(plugin);
    INFO(explain(record));
    REQUIRE(record.usable());
    CHECK(record.probe->files.at(elsewhere()) == file_identity(elsewhere()));
    CHECK(record.probe->files.count(plugin) == 0);
    CHECK(path_of("libtorch_cpu.so", record.probe->files).empty());  // the program's own
}

TEST_CASE("what the loader refused is tried again, and what a plugin brings along may not change unseen") {
    const std::string folder = temporary_dir("brings");
    const std::string library = folder + "/libtest_lacking.so";
    const Variable path("LD_LIBRARY_PATH", folder);
    const auto look = [&] {
        return discover(only({bad_plugin("lacks_library")}, folder + "/cache"), this_host(Look::cpu_only))
            .at(0);
    };
    CHECK_FALSE(look().usable());
    CHECK_FALSE(look().probe->from_cache);
    fs::copy_file(elsewhere(), library);
    CHECK(look().usable());
    CHECK(look().probe->from_cache);
    fs::last_write_time(library, fs::last_write_time(library) + std::chrono::seconds(5));
    CHECK_FALSE(look().probe->from_cache);
    CHECK(look().probe->from_cache);
    fs::remove(library);
    CHECK_FALSE(look().usable());
}

TEST_CASE("a program without LibTorch asks the probe program which one it has, once") {
    const std::string folder = temporary_dir("asked");
    const ProbeCache cache(folder);
    const HostFingerprint asked = read_host_fingerprint(probe_program(), {}, cache);
    CHECK(asked.error.empty());
    CHECK(asked.fingerprint == read_host_fingerprint(probe_program(), mapped_files(), cache).fingerprint);
    // Whoever could not run it any more still knows.
    const std::string copy = folder + "/switchyard-probe";
    fs::copy_file(probe_program(), copy);
    REQUIRE(read_host_fingerprint(copy, {}, cache).error.empty());
    fs::permissions(copy, fs::perms::owner_read);
    CHECK(read_host_fingerprint(copy, {}, cache).fingerprint == asked.fingerprint);
}

TEST_CASE("a program whose LibTorch is gone says so") {
    const std::string folder = temporary_dir("gone");
    const std::string program = folder + "/switchyard-probe";
    std::string content = read_file(probe_program());
    content.replace(content.find("libtorch_cpu.so"), 15, "libtorch_cpx.so");  // what it names as needed
    write_file(program, content);
    fs::permissions(program, fs::perms::owner_all);
    const HostFingerprint gone = read_host_fingerprint(program, {}, ProbeCache(""));
    CHECK(gone.error == program + " needs libtorch_cpx.so, which was not found");
    CHECK(gone.hint == "install it, or put its folder into LD_LIBRARY_PATH");
    fs::permissions(program, fs::perms::owner_read);
    CHECK_THAT(read_host_fingerprint(program, {}, ProbeCache("")).error,
               contains(program + " cannot run: before anything of it ran: the probe program " + program +
                        " could not be started: Permission denied"));
}
