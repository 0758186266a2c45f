// What ranks of one machine share: a port to meet at, and its processors.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <utility>

#include <sched.h>
#include <unistd.h>

namespace switchyard::distributed {

// Closed with it.
class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    ~Descriptor() { close(); }
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    int get() const { return number_; }
    int take() { return std::exchange(number_, -1); }
    void close() {
        if (number_ >= 0) ::close(std::exchange(number_, -1));
    }

private:
    int number_;
};

// A socket that rank 0 gets: the port is taken from the moment on in which it is chosen.
struct Meeting {
    Descriptor socket;
    int port = 0;
};
// Throws std::runtime_error.
Meeting open_meeting();

// While it lives, what it starts runs on one of equally large parts of this process's processors, if there
// are that many.
class Processors {
public:
    Processors();
    ~Processors();
    Processors(const Processors&) = delete;
    Processors& operator=(const Processors&) = delete;

    bool take_part(std::int64_t part, std::int64_t parts);
    // Like take_part, for this thread and the ones that it starts, and for good.
    void stay_on(std::int64_t part, std::int64_t parts) { stays_ = take_part(part, parts); }

private:
    cpu_set_t all_{};
    bool stays_ = false;
};

}  // namespace switchyard::distributed
