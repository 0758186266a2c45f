// main() of every test program, and the record of what each test case did that `./dev test` sums up.
// One line per event, written at once, so that a crash leaves a "start" without an end:
//     start NAME | took NAME seconds | pass NAME | fail NAME | skip NAME reason   (fields separated by a tab)
#ifdef SWITCHYARD_CATCH2_V2
#define CATCH_CONFIG_RUNNER
#endif
#include <unistd.h>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "switchyard_test.h"

#ifndef SWITCHYARD_CATCH2_V2
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#endif

namespace {

std::string skip_reason;

std::string one_line(std::string text) {
    for (char& c : text)
        if (c == '\t' || c == '\n' || c == '\r') c = ' ';
    return text;
}

void record(const std::string& event, const std::string& name, const std::string& detail = {}) {
    static const char* const path = std::getenv("SWITCHYARD_TEST_RECORD");
    if (path == nullptr) return;
    std::ofstream file(path, std::ios::app);
    file << event << '\t' << one_line(name) << (detail.empty() ? "" : "\t") << one_line(detail) << std::endl;
}

// Of one test case after the other.
class CaseRecord {
public:
    void starts(const Catch::TestCaseInfo& info) {
        skip_reason.clear();
        begun_ = std::chrono::steady_clock::now();
        record("start", info.name);
    }

    void ended(const std::string& name, const Catch::Totals& totals) const {
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun_;
        record("took", name, std::to_string(took.count()));
        if (totals.assertions.failed > 0) return record("fail", name);
        if (!skip_reason.empty()) return record("skip", name, skip_reason);
        record("pass", name);
    }

private:
    std::chrono::steady_clock::time_point begun_;
};

#ifdef SWITCHYARD_CATCH2_V2
// No listener: for one Catch2 2 writes every assertion that passes out as text, rows of a file and all.
class Recorder final : public Catch::ConsoleReporter {
public:
    using ConsoleReporter::ConsoleReporter;
    static std::string getDescription() { return "the console's, and a record of the test cases"; }

    void testCaseStarting(const Catch::TestCaseInfo& info) override {
        ConsoleReporter::testCaseStarting(info);
        record_.starts(info);
    }
    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        ConsoleReporter::testCaseEnded(stats);
        record_.ended(stats.testInfo.name, stats.totals);
    }

private:
    CaseRecord record_;
};
CATCH_REGISTER_REPORTER("recorder", Recorder)
#else
class Recorder final : public Catch::EventListenerBase {
public:
    using EventListenerBase::EventListenerBase;

    void testCaseStarting(const Catch::TestCaseInfo& info) override { record_.starts(info); }
    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        record_.ended(stats.testInfo->name, stats.totals);
    }

private:
    CaseRecord record_;
};
CATCH_REGISTER_LISTENER(Recorder)
#endif

std::filesystem::path path_from(const char* variable) {
    const char* const value = std::getenv(variable);
    if (value == nullptr) {
        throw std::runtime_error(std::string(variable) +
                                 " is not set: run the test through ctest or `./dev test`");
    }
    return value;
}

/// Folders handed out by temporary_dir(), removed at the end of the process.
class TemporaryFolders {
public:
    ~TemporaryFolders() {
        std::error_code ignored;
        for (const auto& folder : folders) std::filesystem::remove_all(folder, ignored);
    }
    std::vector<std::filesystem::path> folders;
};

}  // namespace

namespace switchyard::test {

void skip(const std::string& reason) {
    skip_reason = reason;
    WARN("skipped: " << reason);
}

std::filesystem::path source_dir() { return path_from("SWITCHYARD_TEST_SOURCE_DIR"); }
std::filesystem::path build_dir() { return path_from("SWITCHYARD_TEST_BUILD_DIR"); }

std::filesystem::path temporary_dir(const std::string& name) {
    static TemporaryFolders made;
    std::string pattern = (std::filesystem::temp_directory_path() / (name + ".XXXXXX")).string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a folder like " + pattern);
    return made.folders.emplace_back(pattern);
}

}  // namespace switchyard::test

namespace {

// What the plugins of this build are (probe_plugins.sh), where this program has not found it out by itself.
// What of it does not hold any more is found out anew.
void take_probed_plugins() {
    const char* const probed = std::getenv("SWITCHYARD_TEST_PROBED");
    const char* const cache = std::getenv("XDG_CACHE_HOME");
    if (probed == nullptr || cache == nullptr) return;
    const auto own = std::filesystem::path(cache) / "switchyard";
    std::error_code ignored;
    if (std::filesystem::exists(own / "probes", ignored)) return;
    std::filesystem::create_directories(own, ignored);
    using Options = std::filesystem::copy_options;
    std::filesystem::copy(probed, own, Options::recursive | Options::skip_existing, ignored);
}

}  // namespace

int main(int argc, char** argv) {
    take_probed_plugins();
    Catch::Session session;
#ifdef SWITCHYARD_CATCH2_V2
    session.configData().reporterName = "recorder";
#endif
    return session.run(argc, argv);
}
