// What a command is. Each command has a file of its own with one setup function; commands.h lists them.
//
// A setup declares its options on a CLI11 command and returns what runs when the line has been parsed. It
// reports what a user did wrong by throwing Failure, and anything that goes wrong otherwise by any other
// exception: both become text on stderr and an exit code.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace switchyard::cli {

// Exit codes of all commands; one that a signal stopped ends with 128 + its number (train::StopSignal).
enum Exit : int { fine = 0, run_failed = 1, bad_input = 2, regression = 3, cannot_tell = 4, numerics = 5 };

// Ends a command. `text` (may have several lines) goes to stderr after "error: ", or as it is if its first
// line has a place and that word already ("run.toml:3:1: error: ...").
class Failure : public std::runtime_error {
public:
    explicit Failure(const std::string& text, int code = Exit::bad_input)
        : std::runtime_error(text), code_(code) {}
    int code() const { return code_; }

private:
    int code_;
};

using Action = std::function<int()>;  // returns an exit code
using Setup = Action (*)(CLI::App& command);

struct Command {
    std::string_view path;                   // "plan", "plugins list"
    std::string_view summary;                // one line
    std::vector<std::string_view> examples;  // whole command lines, shown by -h
    Setup setup = nullptr;                   // nullptr: another program runs it
    bool for_people = true;                  // else programs start it, and no help tells of it
};

}  // namespace switchyard::cli
