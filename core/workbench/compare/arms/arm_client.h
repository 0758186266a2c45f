// One arm of a comparison as its coordinator sees it: it gets one request at a time and sleeps between them.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <string>

namespace switchyard::compare {

// What became of a request.
struct Exchange {
    enum class End : std::uint8_t {
        answered,     // text: the line
        timed_out,    // no line within the time allowed
        exited,       // the arm ended: text says how
        unsolicited,  // it wrote without a request, or without end: text says so
        stopped       // the coordinator itself was told to stop
    };
    End end = End::exited;
    std::string text;
    double wall_ms = 0.0;  // from the request to the end of the line, by the coordinator's clock
};

class ArmClient {
public:
    virtual ~ArmClient() = default;
    // Wakes the arm, sends `line` (without its end), waits for one line, puts the arm to sleep.
    virtual Exchange request(const std::string& line, double timeout_ms) = 0;
    // Gives it a moment to end by itself, then kills it.
    virtual void quit() { kill(); }
    // Kills it and all that it has started. No request is answered afterwards.
    virtual void kill() = 0;
    // The end of what it wrote to its standard error.
    virtual std::string stderr_tail() const { return ""; }
};

}  // namespace switchyard::compare
