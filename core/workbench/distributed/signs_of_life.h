// That a rank lives, whatever it is busy with: each gives signs of life over the store, on a thread of its
// own. A process that was killed or stopped gives none.
//
// Rank 0 looks for the signs of all others, and they for those of rank 0. Of one that gave none for as long
// as ranks wait for each other, whoever waits at a meeting is told (together.h).
//
// No LibTorch here.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/workbench/distributed/store.h"
#include "core/workbench/distributed/together.h"

namespace switchyard::distributed {

class SignsOfLife {
public:
    SignsOfLife(Store& store, const Place& place, double timeout_seconds);

    // Seconds between two turns.
    double period() const { return timeout_ / 10.0; }
    // Gives a sign, and looks for those of others. `now`: seconds of a clock that never goes back. While this
    // process stood still itself the others are not taken to have been silent.
    void take_turn(double now);

private:
    struct Watched {
        std::int64_t signs = 0;  // none: it has not come yet
        double silent_seconds = 0.0;
        bool told = false;
    };

    Store& store_;
    Place place_;
    double timeout_;
    std::optional<double> last_turn_;
    std::map<std::int64_t, Watched> watched_;  // by rank
};

// Takes these turns as long as it lives.
class Heartbeat {
public:
    // `store`: a connection that nothing else waits on. The first sign is given when this returns.
    Heartbeat(std::shared_ptr<Store> store, const Place& place, double timeout_seconds);
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

private:
    void run();

    std::shared_ptr<Store> store_;
    SignsOfLife signs_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace switchyard::distributed
