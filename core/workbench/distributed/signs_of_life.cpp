#include "core/workbench/distributed/signs_of_life.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "core/kernel/base/number_text.h"
#include "core/workbench/distributed/quiet_thread.h"

namespace switchyard::distributed {
namespace {

std::string sign_of(std::int64_t rank) { return "alive/" + std::to_string(rank); }

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

SignsOfLife::SignsOfLife(Store& store, const Place& place, double timeout_seconds)
    : store_(store), place_(place), timeout_(timeout_seconds) {
    if (place.rank != 0) watched_[0] = {};
    for (std::int64_t rank = 1; place.rank == 0 && rank < place.world_size; ++rank) watched_[rank] = {};
}

void SignsOfLife::take_turn(double now) {
    store_.add(sign_of(place_.rank), 1);
    const double since = last_turn_ ? std::min(now - *last_turn_, 2.0 * period()) : 0.0;
    last_turn_ = now;
    for (auto& [rank, watched] : watched_) {
        const auto signs = store_.add(sign_of(rank), 0);
        watched.silent_seconds = signs == watched.signs && signs > 0 ? watched.silent_seconds + since : 0.0;
        watched.signs = signs;
        if (watched.told || watched.silent_seconds < timeout_) continue;
        watched.told = true;
        tell_those_who_wait(store_, "rank " + std::to_string(rank) + " gave no sign of life for " +
                                        base::digits(timeout_) + " s");
    }
}

Heartbeat::Heartbeat(std::shared_ptr<Store> store, const Place& place, double timeout_seconds)
    : store_(std::move(store)), signs_(*store_, place, timeout_seconds) {
    signs_.take_turn(seconds_now());
    thread_ = start_quiet_thread([this] { run(); });
}

Heartbeat::~Heartbeat() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Heartbeat::run() {
    std::unique_lock lock(mutex_);
    const std::chrono::duration<double> period(signs_.period());
    while (!changed_.wait_for(lock, period, [&] { return ends_; })) {
        lock.unlock();
        try {
            signs_.take_turn(seconds_now());
        } catch (const StoreGone&) {
            return;  // who waits for others learns it from the store, too
        }
        lock.lock();
    }
}

}  // namespace switchyard::distributed
