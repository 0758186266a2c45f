// A run opens only the plugins that its plan needs: what the process has mapped while it trains, as Linux
// tells the program that its log goes to.
#include <set>
#include <sstream>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// Names of the plugins in /proc/PID/maps.
std::set<std::string> plugins_in(const std::string& maps) {
    std::set<std::string> found;
    const std::string folder = "/lib/switchyard/plugins/lib";
    std::istringstream lines(maps);
    for (std::string line; std::getline(lines, line);) {
        const auto at = line.find(folder);
        if (at == std::string::npos) continue;
        const auto name = line.substr(at + folder.size());
        found.insert(name.substr(0, name.find(".so")));
    }
    return found;
}

std::set<std::string> opened(const TinyJob& job, const std::string& run, const Words& sets) {
    const auto maps = job.file(run + ".maps");
    const auto script =
        job.write("maps.sh", "cat /proc/$PPID/maps > " + maps + "; cat > " + job.file("log") + "\n");
    REQUIRE(job.trained(run, with(sets, {"train.steps=1", "log.command=[\"/bin/sh\", \"" + script + "\"]"}))
                .code == 0);
    return plugins_in(bytes_of(maps));
}

}  // namespace

TEST_CASE("a run opens only the plugins that its plan needs") {
    const TinyJob job;
    CHECK(opened(job, "torch", {}) == std::set<std::string>{"torch"});
    CHECK(opened(job, "two", {"attention.backend=naive"}) == std::set<std::string>{"naive", "torch"});
}
