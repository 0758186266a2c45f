#include "pipeline.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace switchyard::batching {

Pipeline::Pipeline(std::function<Batch(std::int64_t)> make, std::int64_t begin, std::int64_t end,
                   std::int64_t workers, std::int64_t ahead)
    : make_(std::move(make)), end_(end), ahead_(static_cast<std::size_t>(ahead)), next_(begin) {
    const auto count = std::min(workers, end - begin);
    workers_.reserve(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
    try {
        for (std::int64_t i = 0; i < count; ++i) workers_.emplace_back([this] { work(); });
    } catch (const std::exception& problem) {
        const auto started = std::to_string(workers_.size());
        stop();  // no destructor runs after this
        throw std::runtime_error("workers is " + std::to_string(workers) + ", and no more than " + started +
                                 " threads could be started: " + problem.what() +
                                 "; set fewer workers, or allow more threads (ulimit -u)");
    }
}

Pipeline::~Pipeline() { stop(); }

void Pipeline::stop() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        stop_ = true;
    }
    room_.notify_all();
    for (auto& worker : workers_) worker.join();
}

void Pipeline::work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        room_.wait(lock, [&] { return stop_ || next_ == end_ || places_.size() < ahead_; });
        if (stop_ || next_ == end_) return;
        const auto number = next_++;
        Place& place = places_.emplace_back();
        lock.unlock();
        Batch batch;
        std::exception_ptr error;
        try {
            batch = make_(number);
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        place.batch = std::move(batch);
        place.error = error;
        place.done = true;
        done_.notify_all();
    }
}

Batch Pipeline::take() {
    if (workers_.empty()) return make_(next_++);
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return !places_.empty() && places_.front().done; });
    Place place = std::move(places_.front());
    places_.pop_front();
    room_.notify_one();
    if (place.error != nullptr) std::rethrow_exception(place.error);
    return std::move(place.batch);
}

std::int64_t Pipeline::ready() const {
    if (workers_.empty()) return -1;
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::count_if(places_.begin(), places_.end(), [](const Place& place) { return place.done; });
}

}  // namespace switchyard::batching
