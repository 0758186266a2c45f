// What a plugin may do while it is probed, and what is left of it afterwards. To add a misdeed: a plugin in
// tests/support/plugins.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/kernel/loader/probe/probe_environment.h"
#include "core/kernel/loader/probe/probe_runner.h"

#include "fixture.h"

#include "sanitized.h"
#include "variable.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::loader;
using namespace switchyard::test;

namespace {

// None that a busy machine could reach.
constexpr std::chrono::milliseconds far_deadline{300000};

ProbeReport report_on(const std::string& plugin, const ProcessLimits& limits = {}) {
    return ProbeProcess({probe_program(), far_deadline, limits}).probe(plugin);
}

// Such a plugin in a folder of this test, where it may leave a file.
std::string copied(const std::string& name) {
    const auto file = temporary_dir("copied") / ("lib" + name + ".so");
    std::filesystem::copy_file(bad_plugin(name), file);
    return file.string();
}

// The process that a plugin said it has left behind.
pid_t left_by(const std::string& plugin) {
    pid_t process = 0;
    std::ifstream(plugin + ".pid") >> process;
    return process;
}

bool is_gone(pid_t process) { return ::kill(process, 0) != 0 && errno == ESRCH; }

}  // namespace

TEST_CASE("a process that a plugin started and hid is gone with its probe, and the plugin may be used") {
    const auto plugin = copied("leaves_a_daemon");
    const ProbeReport report = report_on(plugin);
    INFO(report.output);
    CHECK_FALSE(report.failure.has_value());
    const pid_t left = left_by(plugin);
    REQUIRE(left > 0);
    const bool gone = is_gone(left);
    if (!gone) ::kill(left, SIGKILL);
    CHECK(gone);
}

TEST_CASE("a plugin that takes memory without end is stopped at the limit") {
    if (sanitized) return test::skip("built with a sanitizer: its memory is not limited");
    const ProbeReport report = report_on(bad_plugin("allocates"), {.memory_bytes = std::uint64_t{2} << 30});
    REQUIRE(report.failure.has_value());
    CHECK(report.failure->phase == ProbePhase::load);
    CHECK_THAT(report.failure->text, contains("std::bad_alloc"));
    CHECK(report.failure->hint ==
          "a probe may take 2048 MiB of memory; let it take what it needs when it is first called");
}

TEST_CASE("a plugin that computes without end is stopped by its processor time") {
    const ProbeReport report = report_on(bad_plugin("spins"), {.processor_time = std::chrono::seconds(2)});
    REQUIRE(report.failure.has_value());
    CHECK(to_string(*report.failure) == "in load: used up its 2 s of processor time and was stopped");
}

TEST_CASE("a probe sees no secrets, no terminal and no descriptors, and leaves no core file") {
    const Variable token("TEST_TOKEN", "secret");
    const Variable licence("TEST_LICENCE", "needed");
    const Variable listed("SWITCHYARD_PROBE_ENVIRONMENT", "OTHER,TEST_LICENCE");
    const int descriptor = ::open("/dev/null", O_RDONLY);
    ::dup2(descriptor, 200);
    const ProbeReport report = report_on(bad_plugin("looks_around"));
    ::close(200);
    ::close(descriptor);
    CHECK_FALSE(report.failure.has_value());
    CHECK_THAT(report.output, contains("PATH yes, TEST_TOKEN no, TEST_LICENCE yes\n"));
    CHECK_THAT(report.output, contains(sanitized ? "core 0, " : "core 0, dumpable 0, no new privileges 1\n"));
    CHECK_THAT(report.output, contains("own session yes, terminal no, descriptor 200 no\n"));
}

TEST_CASE("only what decides how libraries are found and run is passed on") {
    const char* const all[] = {"PATH=/bin",
                               "AWS_SECRET_ACCESS_KEY=x",
                               "LD_LIBRARY_PATH=/a",
                               "SSH_AUTH_SOCK=/s",
                               "OMP_NUM_THREADS=2",
                               "CUDA_VISIBLE_DEVICES=0",
                               "PATHS=/bin",
                               "LC_ALL=C",
                               "=odd",
                               nullptr};
    CHECK(probe_environment(all) == std::vector<std::string>{"PATH=/bin", "LD_LIBRARY_PATH=/a",
                                                             "OMP_NUM_THREADS=2", "CUDA_VISIBLE_DEVICES=0",
                                                             "LC_ALL=C"});
}

TEST_CASE("a probe that nobody listens to any more ends what it started") {
    const auto plugin = copied("hangs_at_load");
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::close(ends[0]);  // which may be 3
        ::dup2(ends[1], 3);
        if (ends[1] != 3) ::close(ends[1]);
        ::execl(probe_program().c_str(), "switchyard-probe", plugin.c_str(), "--report-fd", "3", nullptr);
        ::_exit(127);
    }
    ::close(ends[1]);
    char first = 0;
    CHECK(::read(ends[0], &first, 1) == 1);  // it has begun to load the plugin, which never comes back
    ::close(ends[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);  // it ends
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGKILL);
}
