#include "core/workbench/distributed/call_thread.h"

#include <chrono>
#include <condition_variable>
#include <utility>

#include "core/workbench/distributed/quiet_thread.h"

namespace switchyard::distributed {

struct CallThread::Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> call;  // until it has returned
    bool ends = false;
};

CallThread::CallThread() : shared_(std::make_shared<Shared>()) {
    thread_ = start_quiet_thread([shared = shared_] { run(*shared); });
}

CallThread::~CallThread() {
    {
        const std::lock_guard lock(shared_->mutex);
        shared_->ends = true;
    }
    shared_->changed.notify_all();
    if (given_up_)
        thread_.detach();
    else
        thread_.join();
}

void CallThread::run(Shared& shared) {
    std::unique_lock lock(shared.mutex);
    while (true) {
        shared.changed.wait(lock, [&] { return shared.ends || shared.call; });
        if (shared.ends) return;
        lock.unlock();
        shared.call();  // nobody sets another one meanwhile
        lock.lock();
        shared.call = nullptr;
        shared.changed.notify_all();
    }
}

bool CallThread::returns_within(double seconds, std::function<void()> call) {
    const std::lock_guard one(one_at_a_time_);
    if (given_up_) return false;
    std::unique_lock lock(shared_->mutex);
    shared_->call = std::move(call);
    shared_->changed.notify_all();
    given_up_ = !shared_->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                           [&] { return !shared_->call; });
    return !given_up_;
}

}  // namespace switchyard::distributed
