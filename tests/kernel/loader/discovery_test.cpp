// Gates before the probe: each kind of file that is no usable plugin is named with its path, its gate and a
// reason, while the others still work.
// To add one: put a file together (fixture.h), and compare explain() of its record.
#include <unistd.h>
#include <cstdlib>

#include <switchyard/interfaces/plugin_abi.h>
#include "core/kernel/loader/exposed_file.h"

#include "fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::loader;
using namespace switchyard::machine;
using namespace switchyard::test;

namespace {

struct Judged {
    PluginRecord record;
    std::string path;
    std::string gate() const {
        return record.failure() == nullptr ? "none" : std::string(name(record.failure()->gate));
    }
    std::string reason() const { return record.failure() == nullptr ? "" : record.failure()->reason; }
};

Judged judge_content(const std::string& content) {
    const std::string path = temporary_dir("judge") / "libx.so";
    write_file(path, content);
    return {judged(path), path};
}

Judged judge_changed(const std::string& from, const std::string& to) {
    return judge_content(changed(good_plugin(), from, to));
}

}  // namespace

TEST_CASE("a good plugin passes every gate that is tried") {
    const PluginRecord record = judged(good_plugin());
    CHECK(record.usable());
    CHECK(explain(record).empty());
    CHECK(record.content_hash.size() == 32);
    CHECK(record.gates.size() == 7);
    CHECK(record.gates.back().gate == Gate::cpu_features);
    CHECK(record.display_name() == "test_good");
}

TEST_CASE("a file that is no plugin says why") {
    const Judged text = judge_content("not a library at all");
    CHECK(text.gate() == "manifest");
    CHECK(explain(text.record) ==
          text.path +
              ": refused at gate manifest: is no ELF file (a shared library begins with 0x7f 'ELF'); "
              "expected a shared library; build or copy it again");
    CHECK(judge_content("").reason() == "is empty");
    const Judged truncated = judge_content(read_file(good_plugin()).substr(0, 20000));
    CHECK(truncated.gate() == "manifest");
    CHECK_THAT(truncated.reason(),
               contains("is truncated or damaged: its section headers would end at byte"));
    const Judged other = {judged("/lib/x86_64-linux-gnu/libc.so.6"), ""};
    CHECK(other.gate() == "manifest");
    CHECK(other.reason() == "is no Switchyard plugin: it has no section switchyard_manifest");
    CHECK(other.record.failure()->hint == "build it with switchyard_add_plugin");
    const Judged damaged = judge_changed("\"components\":[", "\"components\":{");
    CHECK(damaged.gate() == "manifest");
    CHECK_THAT(damaged.reason(), contains("its manifest is damaged: its JSON cannot be read"));
}

TEST_CASE("a path that leads nowhere is a record of its own") {
    const std::string folder = temporary_dir("judge");
    CHECK(explain(judged(folder + "/gone.so")) ==
          folder + "/gone.so: refused at gate path: does not exist; correct the path, or take it out");
    DiscoveryOptions options = only({folder + "/gone", good_plugin()});
    options.path.entries[0].named = false;  // the standard places need not exist
    options.run_probes = false;
    CHECK(discover(options, this_host(Look::cpu_only)).size() == 1);
    CHECK(judged("/dev/null").failure()->reason == "is not a regular file");
}

TEST_CASE("a file that this user cannot read is told") {
    if (::geteuid() == 0) return skip("root reads everything");
    const std::string path = temporary_dir("judge") / "libx.so";
    write_file(path, read_file(good_plugin()));
    std::filesystem::permissions(path, std::filesystem::perms::none);
    CHECK(judged(path).failure()->reason == "cannot be read by this user");
}

TEST_CASE("a plugin that others may change is used, with a warning that names what they may write") {
    using std::filesystem::perms;
    const auto folder = std::filesystem::canonical(temporary_dir("judge"));
    const std::string path = folder / "libx.so";
    write_file(path, read_file(good_plugin()));
    const auto hint = [&] { return judged(path).gates.at(0).hint; };
    const std::string advice = " may be written by every user, who then runs code as you; `chmod o-w` it";
    CHECK(hint().empty());
    std::filesystem::permissions(path, perms::others_write, std::filesystem::perm_options::add);
    CHECK(judged(path).usable());
    CHECK(hint() == "the file " + path + advice);
    std::filesystem::permissions(folder, perms::others_write, std::filesystem::perm_options::add);
    CHECK(hint() == "the folder " + folder.string() + advice);
    const std::string link = temporary_dir("linked") / "libx.so";
    std::filesystem::create_symlink(path, link);
    CHECK(exposed_because(link) == "the folder " + folder.string() + advice);
    if (::geteuid() != 0) return test::skip("only root gives files away");
    std::filesystem::permissions(folder, perms::owner_all);
    std::filesystem::permissions(path, perms::owner_all);
    REQUIRE(::chown(path.c_str(), 12345, 12345) == 0);
    CHECK(hint() == "the file " + path +
                        " belongs to user 12345, who runs code as you by changing it; copy it to a place of "
                        "your own");
}

TEST_CASE("another LibTorch is told in plain words") {
    const std::string version = this_host(Look::cpu_only).libtorch_version;
    const std::string other = version == "2.10.0"   ? "2.99.0"
                              : version.size() == 6 ? "2.10.0"
                                                    : version.substr(0, version.size() - 1) + "9";
    const Judged result = judge_changed("libtorch=" + version, "libtorch=" + other);
    CHECK(result.gate() == "fingerprint");
    CHECK(result.reason() == "built with LibTorch " + other + ", this program has " + version);
    CHECK(result.record.failure()->expected == "libtorch=" + version);
    CHECK(result.record.failure()->got == "libtorch=" + other);
    CHECK(result.record.failure()->hint == "rebuild it with LibTorch " + version);
}

TEST_CASE("another plugin interface is told, with everything else that differs") {
    const Judged result = judge_changed("abi_major=1\nlayout=", "abi_major=7\nlayout=");
    CHECK(result.gate() == "fingerprint");
    CHECK(result.reason() == "built for version 7 of Switchyard's plugin interface, this program has 1");
    const std::string minor = "\"abi\":[1," + std::to_string(SWITCHYARD_ABI_MINOR) + "]";
    CHECK(judge_changed(minor, "\"abi\":[1,9]").reason() ==
          "built for version 1.9 of Switchyard's plugin interface, this program has 1." +
              std::to_string(SWITCHYARD_ABI_MINOR));
    const Judged build = judge_changed("libc10_build_id=", "libc10_build_ix=");
    CHECK(build.gate() == "fingerprint");
    CHECK(build.record.failure()->got == "libc10_build_id=nothing");
}

TEST_CASE("another layout of a kind's contract turns away the plugins of that kind alone") {
    const Judged of_it = judge_changed("\nlayout_activation=", "\nlayout_activatiox=");
    CHECK(of_it.gate() == "fingerprint");
    CHECK(of_it.reason() ==
          "built with headers of Switchyard in which the contract of activation is laid out "
          "otherwise than in this program's");
    const Judged of_another = judge_changed("\nlayout_linear=", "\nlayout_lineax=");
    CHECK(of_another.record.usable());
}

TEST_CASE("a library for another processor is told") {
    std::string content = read_file(good_plugin());
    content[18] = static_cast<char>(183);
    const Judged arm = judge_content(content);
    CHECK(arm.gate() == "architecture");
    CHECK(arm.record.failure()->got == "AArch64");
    content = read_file(good_plugin());
    content[4] = 1;
    CHECK(
        explain(judge_content(content).record)
            .find(
                "refused at gate architecture: is a 32-bit library; expected a 64-bit library for x86-64") !=
        std::string::npos);
}

TEST_CASE("features that the processor lacks are named, for this machine and for a described one") {
    const PluginRecord record = judged(bad_plugin("needs_cpu"));
    CHECK(record.failure()->gate == Gate::cpu_features);
    CHECK(record.failure()->reason == "needs CPU features that this host does not have: avx2_and_a_half");
    HostInfo described = *describe("h100").host;
    DiscoveryOptions options = only({bad_plugin("needs_cpu")});
    options.run_probes = false;
    CHECK(discover(options, described)[0].failure()->reason ==
          "needs CPU features that h100 does not have: avx2_and_a_half");
    described.cpu_features.push_back("avx2_and_a_half");
    CHECK(discover(options, described)[0].failure()->reason ==
          "needs CPU features that this machine does not have: avx2_and_a_half");
}

TEST_CASE("a missing library and a version that is too new are told before anything runs") {
    CHECK(explain(probed(bad_plugin("lacks_library"))) ==
          bad_plugin("lacks_library") +
              ": refused at gate probe: before anything of it ran: needs libtest_lacking.so, which was not "
              "found; install it, or put its folder into LD_LIBRARY_PATH");
    const std::string newer = temporary_dir("judge") / "libx.so";
    write_file(newer, changed(good_plugin(), std::string("\0GLIBC_2.", 9), std::string("\0GLIBC_9.", 9)));
    const PluginRecord record = probed(newer);
    REQUIRE(record.failure() != nullptr);
    CHECK(record.failure()->gate == Gate::probe);
    CHECK_THAT(record.failure()->reason, contains("before anything of it ran: needs GLIBC_9."));
    CHECK_THAT(record.failure()->reason, contains(", which /"));
    CHECK_THAT(record.failure()->reason, contains(".so.6 does not have"));
    CHECK(record.failure()->hint == "rebuild it on this system, or on an older one");
}

TEST_CASE("what a judge refuses is not probed, and what it is not asked of was refused before") {
    std::vector<std::string> asked;
    bool allows = false;
    auto options = only({good_plugin(), bad_plugin("needs_cpu")});
    options.judge = [&](PluginRecord& record) {
        asked.push_back(record.manifest->name);
        return allows ? passed(Gate::trust) : refused(Gate::trust, "is not signed", "signed", {}, "sign it");
    };
    const auto found = [&] { return discover(options, machine::this_host(machine::Look::cpu_only)); };
    const auto records = found();
    CHECK(asked == std::vector<std::string>{"test_good"});
    CHECK(explain(records[0]) ==
          good_plugin() + ": refused at gate trust: is not signed; expected signed; sign it");
    CHECK_FALSE(records[0].probe.has_value());
    allows = true;
    const auto allowed = found();
    CHECK(allowed[0].usable());
    CHECK(allowed[0].probe.has_value());
}

TEST_CASE("of two plugins of one name the first in search order counts, and both paths are named") {
    const std::string folder = temporary_dir("judge");
    const std::string copy = folder + "/libcopy.so";
    write_file(copy, read_file(good_plugin()));
    DiscoveryOptions options = only({good_plugin(), copy});
    options.run_probes = false;
    const auto records = discover(options, this_host(Look::cpu_only));
    REQUIRE(records.size() == 2);
    CHECK(records[0].usable());
    CHECK(records[1].failure()->gate == Gate::duplicate);
    CHECK(records[1].failure()->reason ==
          "a plugin called 'test_good' was found before, and the first one counts");
    CHECK(records[1].failure()->got == good_plugin() + " and " + copy);
}

TEST_CASE("the same file reached twice is one plugin") {
    const std::string folder = temporary_dir("judge");
    std::filesystem::create_symlink(good_plugin(), folder + "/liblink.so");
    DiscoveryOptions options =
        only({good_plugin(), folder, std::filesystem::path(good_plugin()).parent_path()});
    options.run_probes = false;
    CHECK(discover(options, this_host(Look::cpu_only)).size() == 1);
}

TEST_CASE("a disabled plugin is refused, and leaves its name to another") {
    const std::string folder = temporary_dir("judge");
    DiscoveryOptions options = only({good_plugin(), bad_plugin("prints")});
    options.run_probes = false;
    options.disabled = {"test_good"};
    const auto records = discover(options, this_host(Look::cpu_only));
    CHECK(records[0].failure()->gate == Gate::disabled);
    CHECK(records[0].failure()->reason == "is disabled by plugins.disabled");
    CHECK(records[1].usable());
}

TEST_CASE("without its probe program an installation says what is missing") {
    DiscoveryOptions options = only({good_plugin()});
    options.probe_program = "/nonexistent/switchyard-probe";
    const auto records = discover(options, this_host(Look::cpu_only));
    CHECK(
        explain(records[0]) ==
        good_plugin() +
            ": refused at gate fingerprint: this program cannot load plugins: /nonexistent/switchyard-probe "
            "could not be opened: No such file or directory; build or install Switchyard again");
}
