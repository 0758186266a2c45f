// Who may write a run folder where others have its lock: for good, or for the moment of asking who has it.
// What several processes do: tests/concurrency.
#include "core/workbench/train/run_lock.h"

#include <chrono>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

// Has the lock of a folder while it lives, as who asks.
class SharedLock {
public:
    explicit SharedLock(const std::string& folder)
        : descriptor_(::open((folder + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
        REQUIRE(::flock(descriptor_, LOCK_SH | LOCK_NB) == 0);
    }
    ~SharedLock() { ::close(descriptor_); }
    SharedLock(const SharedLock&) = delete;
    SharedLock& operator=(const SharedLock&) = delete;

private:
    int descriptor_;
};

}  // namespace

TEST_CASE("a folder is not in use by who asks for a moment whether it is") {
    // Another round where this machine had no time for the thread.
    std::string told = "no round";
    for (int round = 0; round < 5 && !told.empty(); ++round) {
        const auto folder = test::temporary_dir("run_lock").string();
        auto asking = std::make_unique<SharedLock>(folder);
        std::thread moment([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(15));
            asking.reset();
        });
        train::RunLock lock;
        told = lock.take(folder, "switchyard train");
        moment.join();
        CHECK(train::RunLock::is_held(folder) == told.empty());
    }
    CHECK(told == "");
}

TEST_CASE("a folder whose lock is not given back is in use, by whom the lock's file says") {
    const auto folder = test::temporary_dir("run_lock").string();
    const auto used_by = [&](const std::string& who) {
        return folder + ": error: in use by " + who +
               ": wait until it ends, or give another folder with --run";
    };
    {
        const SharedLock asking(folder);
        CHECK(train::RunLock().take(folder, "switchyard train") == used_by("another process"));
    }
    train::RunLock first;
    CHECK(first.take(folder, "switchyard train a.toml") == "");
    CHECK(first.take(folder, "again") == "");
    CHECK(train::RunLock().take(folder, "switchyard train") ==
          used_by("process " + std::to_string(::getpid()) + " (switchyard train a.toml)"));
    CHECK(train::RunLock::is_held(folder));
}
