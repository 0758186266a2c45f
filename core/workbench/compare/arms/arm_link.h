// One arm of a comparison as its coordinator sees it: asked one question at a time, asleep between them.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <string>

namespace switchyard::compare {

// What became of a question.
struct Exchange {
    enum class End : std::uint8_t {
        answered,     // text: the line
        timed_out,    // no line within the time allowed
        gone,         // it ended: text says how, and the end of its standard error
        unsolicited,  // it spoke unasked or without end: text says so
        stopped       // the coordinator itself was told to stop
    };
    End end = End::gone;
    std::string text;
    double wall_ms = 0.0;  // from the question to the end of the line, by the coordinator's clock
};

class ArmLink {
public:
    virtual ~ArmLink() = default;
    // Wakes the arm, says `line` (without its end), waits for one line, puts the arm to sleep.
    virtual Exchange ask(const std::string& line, double timeout_ms) = 0;
    // Lets it end by itself, for a moment; then as `end`.
    virtual void leave() { end(); }
    // Ends it and all that it has started. Nothing can be asked afterwards.
    virtual void end() = 0;
    // The end of what it wrote to its standard error.
    virtual std::string last_words() const { return ""; }
};

}  // namespace switchyard::compare
