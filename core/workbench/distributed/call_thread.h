// Calls that may never return, such as a question to a process that was stopped: they run on a thread of
// their own, and whoever waits for one gives up after a while.
//
// No LibTorch here.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace switchyard::distributed {

class CallThread {
public:
    CallThread();
    ~CallThread();  // waits for no call that was given up on
    CallThread(const CallThread&) = delete;
    CallThread& operator=(const CallThread&) = delete;

    // Runs a call, one after the other, which throws nothing. false: it has not returned after so many
    // seconds, nor will it be waited for; it may go on and needs what it uses. So it is from then on.
    bool returns_within(double seconds, std::function<void()> call);

private:
    struct Shared;  // with the thread, which may outlive this
    static void run(Shared& shared);

    std::mutex one_at_a_time_;
    std::shared_ptr<Shared> shared_;
    std::thread thread_;
    bool given_up_ = false;
};

}  // namespace switchyard::distributed
