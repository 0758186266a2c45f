// Batches made ahead by worker threads, taken in order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <switchyard/interfaces/batch.h>

namespace switchyard::batching {

class Pipeline {
public:
    // `make(number)` is called for begin <= number < end, on any of the workers; at most `ahead` batches are
    // ready or being made. Workers 0: `make` runs in take(). Throws std::runtime_error if not all of them can
    // be started.
    Pipeline(std::function<Batch(std::int64_t)> make, std::int64_t begin, std::int64_t end,
             std::int64_t workers, std::int64_t ahead);
    // Waits for the batches that are being made.
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    // The next batch, of which there must be one. Throws what `make` threw; nothing can be taken after that.
    Batch take();
    std::int64_t ready() const;

private:
    struct Place {
        bool done = false;
        Batch batch;
        std::exception_ptr error;
    };

    void work();
    void stop();

    const std::function<Batch(std::int64_t)> make_;
    const std::int64_t end_;
    const std::size_t ahead_;
    mutable std::mutex mutex_;
    std::condition_variable room_, done_;
    std::int64_t next_;         // to be made
    std::deque<Place> places_;  // from the next to be taken to the last that was begun; none goes away but
                                // the first
    bool stop_ = false;
    std::vector<std::thread> workers_;
};

}  // namespace switchyard::batching
